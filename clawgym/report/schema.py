"""Columns of the spend table."""

import pyarrow as pa

from clawgym.tables import column

SPEND = pa.schema(
    [
        column("stage", pa.string(), "stage that asked"),
        column("role", pa.string(), "model role or name under models:"),
        column("model", pa.string(), "model id"),
        column("calls", pa.int64(), "requests that were answered by the endpoint"),
        column("cache_hits", pa.int64(), "requests answered from the response cache, which cost nothing"),
        column("tokens_in", pa.int64(), "prompt tokens", unit="tokens"),
        column("tokens_out", pa.int64(), "completion tokens", unit="tokens"),
        column("usd", pa.float64(), "price by price_in and price_out of the model", unit="US dollars"),
        column("retries", pa.int64(), "requests that were sent again after an error"),
        column("failures", pa.int64(), "requests that were given up"),
    ]
)

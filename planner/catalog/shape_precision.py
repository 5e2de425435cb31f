"""What a checkpoint's weights are stored in, from the quantisation its config states."""

from __future__ import annotations

from collections.abc import Mapping

from planner.catalog.shape_config import BAD_VALUE, UNSUPPORTED_VALUE, WRAPPED, fault

METHODS = {"fp8": "fp8", "fbgemm_fp8": "fp8", "mxfp4": "mxfp4", "nvfp4": "fp4", "w4a16": "int4", "w8a8": "int8"}
"""Methods and algorithms that say the format by name."""
INTEGER_METHODS = ("gptq", "awq", "auto-round", "autoawq")
FORMATS = {(4, "float"): "fp4", (4, "int"): "int4", (8, "float"): "fp8", (8, "int"): "int8"}


def native_precision(config: Mapping[str, object]) -> str:
    """Precision id of the checkpoint a config belongs to: its quantisation, else `bf16`.

    Where parts are quantised differently the narrowest counts: it is that of most weights (experts, feed-forward).
    DeepSeek-V4's 4-bit experts share a power-of-two scale per 32 weights, which is MXFP4.
    Raises InputError C204 for a quantisation that is no mapping, C205 for a method that is not known.
    """
    inner = next((mapping_of(config[key]) for key in WRAPPED if isinstance(config.get(key), Mapping)), {})
    quantization = mapping_of(config.get("quantization_config")) or mapping_of(inner.get("quantization_config"))
    for stated in (config, inner):
        value = stated.get("quantization_config")
        if value is not None and not isinstance(value, Mapping):
            message = f"quantization_config must be a mapping, got {value!r}"
            raise fault(BAD_VALUE, message, "quantization_config")
    if config.get("expert_dtype") == "fp4":
        return "fp4" if str(quantization.get("moe_quant_algo", "")).upper() == "NVFP4" else "mxfp4"
    if not quantization:
        return "bf16"
    method, algorithm = (str(quantization.get(key, "")).lower() for key in ("quant_method", "quant_algo"))
    for name in (method, algorithm):
        if name in METHODS:
            return METHODS[name]
    if "mxfp4" in str(quantization.get("format", "")):
        return "mxfp4"
    widths = weight_formats(quantization)
    bits = integer_bits(quantization, method)
    if bits:
        widths.add((bits, "int"))
    if widths:
        return FORMATS[min(widths)]
    raise fault(UNSUPPORTED_VALUE, f"quantisation {method or algorithm!r} is not known", "quantization_config")


def weight_formats(quantization: Mapping[str, object]) -> set[tuple[int, str]]:
    """(bits, type) of the weights of every group that a quantisation config lists and we know."""
    found: set[tuple[int, str]] = set()
    for group in mapping_of(quantization.get("config_groups")).values():
        weights = mapping_of(mapping_of(group).get("weights"))
        bits, kind = weights.get("num_bits"), weights.get("type")
        if isinstance(bits, int) and isinstance(kind, str) and (bits, kind) in FORMATS:
            found.add((bits, kind))
    return found


def integer_bits(quantization: Mapping[str, object], method: str) -> int | None:
    """4 or 8 for the integer methods that state a width, None for others."""
    if method == "bitsandbytes":
        return (
            4 if quantization.get("load_in_4bit") is True else 8 if quantization.get("load_in_8bit") is True else None
        )
    bits = quantization.get("bits", quantization.get("w_bit"))
    return bits if method in INTEGER_METHODS and isinstance(bits, int) and bits in (4, 8) else None


def mapping_of(value: object) -> dict[str, object]:
    """A mapping with text keys; empty where it is none."""
    return {str(k): v for k, v in value.items()} if isinstance(value, Mapping) else {}

// Figures as words, the same as in the other reports: three digits that count, a unit, no zero for what is small.
export function threeDigits(value: number): string {
  const size = Math.abs(value);
  if (size >= 99.95) return value.toFixed(0);
  if (size >= 9.995) return value.toFixed(1);
  return value.toFixed(2);
}

export function duration(ms: number): string {
  const size = Math.abs(ms);
  if (size >= 9999.5) return threeDigits(ms / 1e3) + " s";
  if (size >= 0.1) return threeDigits(ms) + " ms";
  if (size >= 0.0009995) return threeDigits(ms * 1e3) + " us";
  return size === 0 ? "0 ms" : (ms * 1e6).toFixed(0) + " ns";
}

export function percent(share: number): string {
  const value = share * 100;
  if (value === 0) return "0 %";
  if (Math.abs(value) < 0.05) return "<0.1 %";
  if (Math.abs(value) < 9.95) return value.toFixed(1) + " %";
  if (value > 99.5 && value < 100) return ">99 %";
  return value.toFixed(0) + " %";
}

export function speedup(value: number): string {
  return value >= 9.95 ? value.toFixed(0) + "x" : value.toFixed(1) + "x";
}

export function count(value: number): string {
  return Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, ",");
}

export function bytes(value: number): string {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let unit = 0;
  while (Math.abs(value) >= 999.5 && unit + 1 < units.length) {
    value /= 1000;
    ++unit;
  }
  return (unit === 0 ? value.toFixed(0) : threeDigits(value)) + " " + units[unit];
}

// "16.1 to 19.8 ms": a unit that both share is said once.
export function span(lowMs: number, highMs: number, to: string): string {
  const low = duration(lowMs);
  const high = duration(highMs);
  const same = low.slice(low.lastIndexOf(" ")) === high.slice(high.lastIndexOf(" "));
  return `${same ? low.slice(0, low.lastIndexOf(" ")) : low} ${to} ${high}`;
}

export function evidenceFigure(value: number | null, unit: string): string {
  if (value === null) return "";
  if (unit === "ms") return duration(value);
  if (unit === "us") return duration(value / 1e3);
  if (unit === "bytes") return bytes(value);
  if (unit === "%") return percent(value / 100);
  const figure = Math.abs(value) >= 1000 && value >= 0 ? count(value) : value === Math.floor(value) ? value.toFixed(0) : threeDigits(value);
  return unit === "" || unit === "count" ? figure : `${figure} ${unit}`;
}

// Control and direction-changing characters would hide or reorder what stands beside them.
export function visible(text: string | null | undefined): string {
  return (text ?? "").replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g, (c) => {
    const code = c.charCodeAt(0);
    return code < 256 ? "\\x" + code.toString(16).padStart(2, "0") : `\\u{${code.toString(16)}}`;
  });
}

export function shortened(text: string, most: number): string {
  if (text.length <= most) return text;
  const left = Math.ceil((most - 1) / 2);
  return text.slice(0, left) + "…" + text.slice(text.length - (most - 1 - left));
}

// units.js - bytes, times and addresses as people read them.

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

function bytesText(bytes) {
  let unit = 0, n = Math.abs(bytes);
  while (n >= 1024 && unit + 1 < UNITS.length) {
    n /= 1024;
    unit++;
  }
  const digits = unit === 0 ? 0 : n < 10 ? 2 : n < 100 ? 1 : 0;
  return `${bytes < 0 ? "−" : ""}${n.toFixed(digits)} ${UNITS[unit]}`;
}

function bytesExact(bytes) {
  return `${bytesText(bytes)} (${bytes.toLocaleString("en")} bytes)`;
}

function timeText(us) {
  if (us < 1000) return `${us.toFixed(0)} µs`;
  if (us < 1e6) return `${(us / 1000).toFixed(us < 1e4 ? 2 : 1)} ms`;
  return `${(us / 1e6).toFixed(us < 1e7 ? 2 : 1)} s`;
}

function addressText(address) {
  return "0x" + address.toString(16);
}

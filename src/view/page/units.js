// units.js - bytes, times and addresses as people read them.

// A text of the snapshot as people may read it: without control characters, and
// without those that turn the direction of what follows (plain_text.h).
function plain(text) {
  return text.replace(/[\t-\r]/g, " ").replace(
    /[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, "?");
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

// As C prints it: of two that are as near the even one.
function fixedText(n, digits) {
  const scaled = n * 10 ** digits, low = Math.floor(scaled);
  return scaled - low === 0.5 && low % 2 === 0
    ? (low / 10 ** digits).toFixed(digits) : n.toFixed(digits);
}

// As units.c: more than the limit would be rounded to 1024.
function bytesText(bytes) {
  let unit = 0, n = Math.abs(bytes);
  while (n >= (unit === 0 ? 1024 : 1023.5) && unit + 1 < UNITS.length) {
    n /= 1024;
    unit++;
  }
  const digits = unit === 0 ? 0 : n < 9.995 ? 2 : n < 99.95 ? 1 : 0;
  return `${bytes < 0 ? "−" : ""}${fixedText(n, digits)} ${UNITS[unit]}`;
}

function countText(n) {
  return n.toLocaleString("en");
}

function bytesExact(bytes) {
  return `${bytesText(bytes)} (${countText(bytes)} bytes)`;
}

function timeText(us) {
  if (us < 1000) return `${us.toFixed(0)} µs`;
  if (us < 1e6) return `${fixedText(us / 1000, 1)} ms`;
  return `${fixedText(us / 1e6, 2)} s`;
}

function addressText(address) {
  return "0x" + address.toString(16);
}

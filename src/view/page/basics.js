// basics.js - small functions that several parts use.

function clamp(n, least, most) {
  return Math.max(least, Math.min(most, n));
}

// The first number from `low` for which a condition holds, which holds for all
// after it; `high` if for none below that.
function firstWhere(low, high, holds) {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle; else low = middle + 1;
  }
  return low;
}

// The function, called once for each argument.
function remembered(compute) {
  const known = new Map();
  return (key) => {
    if (!known.has(key)) known.set(key, compute(key));
    return known.get(key);
  };
}

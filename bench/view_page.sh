#!/bin/sh
# view_page.sh BUILD [FILE] - how long the page of a large snapshot takes in
# headless Chromium: until the first picture, and for each step of zooming in
# and out, moving along and going through the moments.  Without FILE one of a
# million events is made and removed again.  Skipped (77) without Chromium.
set -eu
cd "$(dirname "$0")/.."
build=$1
file=${2-}
chromium=$(command -v chromium || command -v chromium-browser) || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

if [ -z "$file" ]; then
    file=$folder/large.pickle
    tools/make_snapshot.py --events 1000000 "$file"
fi

begin=$(date +%s%N)
"$build/larder" view "$file" -o "$folder/page.html"
end=$(date +%s%N)

# Each step draws at once and is timed; the page is then done.
{
    sed '/^<\/body>$/,$d' "$folder/page.html"
    cat <<'SCRIPT'
<script>
(() => {
  const ready = performance.now();
  draw();
  const first = performance.now();
  const times = { zoom: [], pan: [], scrub: [] };
  const step = (kind, act) => {
    const begin = performance.now();
    act();
    draw();
    times[kind].push(performance.now() - begin);
  };
  for (let i = 0; i < 24; i++) step("zoom", () => zoom(0.6));
  for (let i = 0; i < 24; i++) step("zoom", () => zoom(1 / 0.6));
  for (let i = 0; i < 3; i++) step("zoom", () => zoom(0.5));
  for (let i = 0; i < 20; i++) step("pan", () => pan(i < 10 ? 0.1 : -0.1));
  for (let i = 0; i < 20; i++) step("scrub", () => stepCursor(0.01));
  const line = (name, list) => {
    list.sort((x, y) => x - y);
    return `${name} median ${list[list.length >> 1].toFixed(1)} ms, ` +
      `longest ${list[list.length - 1].toFixed(1)} ms`;
  };
  const out = document.createElement("pre");
  out.textContent = "\nBEGIN\n" + [
    `first picture  ${first.toFixed(0)} ms after the page was opened ` +
      `(data ${ready.toFixed(0)} ms)`,
    ...Object.keys(times).map((kind) => line(kind.padEnd(14), times[kind])),
  ].join("\n") + "\nEND\n";
  document.body.append(out);
})();
</script></body></html>
SCRIPT
} >"$folder/driven.html"
timeout 100 "$chromium" --headless --no-sandbox --disable-gpu \
    --disable-quic --no-first-run --disable-background-networking \
    --disable-component-update --disable-sync \
    --user-data-dir="$folder/profile" --window-size=1400,1000 \
    --timeout=60000 --dump-dom "file://$folder/driven.html" \
    >"$folder/dom" 2>"$folder/errors" || true
echo "page           $(wc -c <"$folder/page.html") bytes," \
    "written in $(((end - begin) / 1000000)) ms"
sed -n '/^BEGIN$/,/^END$/p' "$folder/dom" | sed '1d;$d' | grep . || {
    echo 'the page did not come to its end'
    exit 1
}

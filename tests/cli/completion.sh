#!/bin/sh
# completion.sh LARDER - the scripts printed by `larder completion` complete a
# command line in bash, and in zsh and fish if installed; every option in every
# command's help is in each of them.
. tests/cli/harness

for shell in bash zsh fish; do
    expect 0 completion "$shell"
    cp "$tmp/out" "$tmp/larder.$shell"
done
expect 2 completion
stderr_has 'no shell; expected bash|zsh|fish'
expect 2 completion ksh
stderr_has "no shell 'ksh'; expected bash|zsh|fish"
expect 2 completion bash zsh
stderr_has "unexpected 'zsh'"
expect 0 help
grep -q completion "$tmp/out" && say_failed 'help lists the hidden command'

# ---- every option is completed -----------------------------------------------

# Print the options of COMMAND from its help, one per line.
options_of() {
    "$larder" "$@" --help | sed -n 's/^  \(-[-a-z]*\).*/\1/p'
}

for command in run report fit tune replay diff view convert lab 'lab run' exec doctor; do
    # shellcheck disable=SC2086  # a command and its part
    "$larder" complete $command - >"$tmp/offers"
    # shellcheck disable=SC2086
    for option in $(options_of $command); do
        last="completion: $command $option"
        grep -q "^$option$(printf '\t')." "$tmp/offers" ||
            say_failed 'not offered with its help'
    done
done

# ---- the answers of `larder complete` ------------------------------------------

# offers WORD...: print the words that can be the last, on one line.
offers() {
    "$larder" complete "$@" | cut -f 1 | tr '\n' ' ' | sed 's/ $//'
}

last='complete'
is 'no command of that name' "$(offers hello '')" ''
is 'a hidden command' "$(offers comple)" ''
is 'options before a command' "$(offers --)" '--version --help'
is 'an unknown option' "$(offers replay --plicy=)" ''
is 'a part is the first word' "$(offers lab --json r)" ''
is 'an option without operands' "$(offers doctor '')" '--json --help'
is 'a separate equals sign' "$(offers replay --policy = d)" direct
is 'and no value yet' "$(offers replay --policy =)" 'larder pytorch direct'
is 'a value in the same word' "$(offers replay --policy=d)" --policy=direct
# files_follow WANTED WORD...: whether the last word can be a file.
files_follow() {
    wanted=$1
    shift
    "$larder" complete "$@" >/dev/null
    is "the status of 'complete $*'" "$?" "$wanted"
}
files_follow 0 report ''
files_follow 0 view -o ''
files_follow 0 view --output=
files_follow 0 run --json=
files_follow 0 lab run a
files_follow 1 replay --repeat ''
files_follow 1 replay --po
files_follow 1 doctor ''
files_follow 1 help ''
files_follow 1 completion ''
files_follow 1 run --advise=

# The stubs run the command that is on the line.
mkdir "$tmp/bin"
ln -s "$(realpath "$larder")" "$tmp/bin/larder"
PATH=$tmp/bin:$PATH

# ---- bash --------------------------------------------------------------------

# bash_offers LINE: print the completions at its end, sorted, on one line. bash
# treats an equals sign as a word.
bash_offers() {
    bash --norc -c '
        . "$1"
        read -ra COMP_WORDS <<<"${2//=/ = }"
        [[ $2 == *[\ ] ]] && COMP_WORDS+=("")
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _larder larder
        printf "%s\n" "${COMPREPLY[@]}"' - "$tmp/larder.bash" "$1" |
        LC_ALL=C sort | tr '\n' ' ' | sed 's/ $//'
}

touch "$tmp/one.trace" "$tmp/two words.trace"
if command -v bash >/dev/null; then
    last='completion in bash'
    is 'larder re' "$(bash_offers 'larder re')" 'replay report'
    is 'larder replay --po' "$(bash_offers 'larder replay --po')" --policy
    is 'larder replay --policy p' \
        "$(bash_offers 'larder replay --policy p')" pytorch
    is 'larder replay --policy=d' \
        "$(bash_offers 'larder replay --policy=d')" direct
    is 'larder replay --repeat' "$(bash_offers 'larder replay --repeat ')" ''
    is 'larder diff --from 2.1' "$(bash_offers 'larder diff --from 2.1')" \
        '2.10 2.11 2.12 2.13 2.14 2.15'
    is 'the keys of settings' \
        "$(bash_offers 'larder fit --conf graph_cap')" \
        graph_capture_record_stream_reuse
    is 'cards' "$(bash_offers 'larder fit --gpu rtx409')" rtx4090
    is 'cards' "$(bash_offers 'larder run --gpu h100p')" h100pcie
    is 'larder lab r' "$(bash_offers 'larder lab r')" run
    is 'larder lab run move' "$(bash_offers 'larder lab run move')" \
        move_and_reuse
    is 'larder lab run --each-' "$(bash_offers 'larder lab run --each-')" \
        '--each-statement --each-step'
    is 'larder help fi' "$(bash_offers 'larder help fi')" fit
    is 'larder report FILE' "$(bash_offers "larder report $tmp/one")" \
        "$tmp/one.trace"
    is 'a file with a blank' "$(bash_offers "larder replay $tmp/two")" \
        "$tmp/two words.trace"
    is 'larder view -o FILE' "$(bash_offers "larder view -o $tmp/one")" \
        "$tmp/one.trace"
    is 'larder view --output=FILE' \
        "$(bash_offers "larder view --output=$tmp/one")" "$tmp/one.trace"
    is 'names and files' "$(cd "$tmp" && bash_offers 'larder lab run one')" \
        'one.trace one_empty_cache'
fi

# ---- fish --------------------------------------------------------------------

fish_offers() {
    HOME=$tmp fish --no-config -c "source '$tmp/larder.fish'
        complete -C '$1'" </dev/null | cut -f 1 | LC_ALL=C sort | tr '\n' ' ' |
        sed 's/ $//'
}

if command -v fish >/dev/null; then
    last='completion in fish'
    is 'larder re' "$(fish_offers 'larder re')" 'replay report'
    is 'larder replay --po' "$(fish_offers 'larder replay --po')" --policy
    is 'larder replay --policy p' \
        "$(fish_offers 'larder replay --policy p')" pytorch
    is 'larder lab r' "$(fish_offers 'larder lab r')" run
    is 'larder lab run move' "$(fish_offers 'larder lab run move')" \
        move_and_reuse
    is 'larder lab run --each-' "$(fish_offers 'larder lab run --each-')" \
        '--each-statement --each-step'
    is 'larder report FILE' "$(fish_offers "larder report $tmp/one")" \
        "$tmp/one.trace"
    is 'larder view --output=FILE' \
        "$(fish_offers "larder view --output=$tmp/one")" \
        "--output=$tmp/one.trace"
    is 'larder replay --repeat' "$(fish_offers 'larder replay --repeat ')" ''
    is 'the descriptions' "$(HOME=$tmp fish --no-config -c \
        "source '$tmp/larder.fish'; complete -C 'larder view --op'")" \
        "$("$larder" complete view --op)"
fi

# ---- zsh ---------------------------------------------------------------------

# zsh_completes LINE: print the arguments after a tab at its end, in a zsh on a
# separate terminal where `larder` prints its arguments.
cat >"$tmp/drive.zsh" <<'ZSH'
zmodload zsh/zpty
zpty shell "HOME=$1 zsh -f -i"
zpty -w shell "PS1= PS2=; fpath=($1/functions \$fpath); autoload -U compinit"
zpty -w shell "compinit -u -D; larder() {
    [[ \$1 == complete ]] && { command larder \"\$@\"; return }
    print \"<<\$*>>\" }; print rea\\dy"
zpty -r shell line '*ready*'
zpty -w -n shell "$2"$'\t\n'
zpty -r shell line '*<<*>>*'
print -r -- "${${line##*<<}%%>>*}"
zpty -d shell
ZSH
zsh_completes() {
    timeout 20 zsh -f "$tmp/drive.zsh" "$tmp" "$1"
}

if command -v zsh >/dev/null; then
    last='completion in zsh'
    mkdir "$tmp/functions"
    cp "$tmp/larder.zsh" "$tmp/functions/_larder"
    is 'larder repl' "$(zsh_completes 'larder repl')" 'replay'
    is 'larder lab ru' "$(zsh_completes 'larder lab ru')" 'lab run'
    is 'larder replay --policy=py' \
        "$(zsh_completes 'larder replay --policy=py')" 'replay --policy=pytorch'
    is 'larder lab run move' "$(zsh_completes 'larder lab run move')" \
        'lab run move_and_reuse'
    is 'larder view --tit' "$(zsh_completes 'larder view --tit')" \
        'view --title'
    is 'larder view --output=FILE' \
        "$(zsh_completes "larder view --output=$tmp/one")" \
        "view --output=$tmp/one.trace"
fi

finish

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
    for option in $(options_of $command); do
        last="completion: $command $option"
        sed -n "/^_larder_options()/,/^}/s/^ *'$command') echo '\(.*\)'.*/ \1 /p" \
            "$tmp/larder.bash" | grep -q -e " $option " ||
            say_failed 'not in the script for bash'
        name=${option#-}
        name=${name#-}
        grep -q -e "__larder_in $command' -[ls] $name " "$tmp/larder.fish" ||
            say_failed 'not in the script for fish'
        sed -n "/^_larder_$(echo "$command" | tr ' ' _)()/,/^}/p" \
            "$tmp/larder.zsh" | grep -q -e "'${option}[=+]*\[" ||
            say_failed 'not in the script for zsh'
    done
done

# ---- bash --------------------------------------------------------------------

# bash_offers LINE: print the completions at its end, sorted, on one line. bash
# treats an equals sign as a word.
bash_offers() {
    bash --norc -c '
        . "$1"
        read -ra COMP_WORDS <<<"${2//=/ = }"
        [[ $2 == *[\ ] ]] && COMP_WORDS+=("")
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _larder
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
fi

# ---- zsh ---------------------------------------------------------------------

# zsh_completes LINE: print the arguments after a tab at its end, in a zsh on a
# separate terminal where `larder` prints its arguments.
cat >"$tmp/drive.zsh" <<'ZSH'
zmodload zsh/zpty
zpty shell "HOME=$1 zsh -f -i"
zpty -w shell "PS1= PS2=; fpath=($1/functions \$fpath); autoload -U compinit"
zpty -w shell "compinit -u -D; larder() { print \"<<\$*>>\" }; print rea\\dy"
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
fi

finish

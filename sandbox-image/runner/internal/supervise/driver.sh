__af_say() { export -p >&4; command printf '\0%s %s %s\n' "$1" "$__af_n" "$2" >&4; command pwd -P >&4; command printf '\0' >&4; }
__af_n=0 __af_busy=0
trap 'case $__af_busy in 1) exit 143 ;; esac' URG
trap '__af_say x $? 2>/dev/null' EXIT
while IFS=' ' command read -r __af_n __af_l <&3; do
  __af_c=
  while [ "$__af_l" -gt 0 ]; do
    IFS= command read -r __af_x <&3
    __af_c="$__af_c$__af_x
"
    __af_l=$((__af_l - 1))
  done
  __af_busy=1
  if [ "$__af_n" = 0 ]; then command eval "$__af_c" 3<&- 4>&- >/dev/null 2>&1; else command eval "$__af_c" 3<&- 4>&-; fi
  { __af_s=$?; __af_busy=0; __af_say r "$__af_s"; } 2>/dev/null
done

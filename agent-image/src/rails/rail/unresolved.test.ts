import { describeRail } from '../testing/table.ts';
import type { Act } from '../verdict/types.ts';

const python = (text: string): Act => ({ tool: 'ExecCode', argv: ['python3', '-c', text] });

await describeRail('unresolved', {
  positives: ['$CMD x', '"$(cat name)" x', '$(head -1 list) -rf', 'a &&', "echo 'open", 'if true; then ls', 'x=$(date); $x', 'a | | b'],
  evasions: [
    'r${x}m file',
    'for a in a b c d e f g r; do for b in a b c d e f g m; do $a$b x; done; done',
    './[b]in/x',
    'IFS=, read a b < f; $a',
    '${cmds[$i]} x',
    "python3 -c 'import subprocess, sys; subprocess.run(sys.argv[1:])'",
    `${'$('.repeat(200)}ls${')'.repeat(200)}`,
    '((1<<2))\nls\n2))\n((x<<y',
    "find . -name 'a*' -exec {} \\;",
    'find . -name a -o -name b -exec {} \\;',
    'find . -type f -exec {} \\;',
    ...[
      'import os\nnames = ["getcwd"]\nnames.append(chr(115))\nfor n in names: getattr(os, n)("x")',
      'import os\nd = {"a": "getcwd"}\nd["a"] = input()\ngetattr(os, d["a"])("x")',
      'import os\nd = {"a": "getcwd"}\ne = d\ne.update(a=input())\ngetattr(os, d["a"])("x")',
      `import os\nfor i in ("a", "b", "c", "d"): f(${'1, '.repeat(9000)})\nfor n in ("getcwd", "system"): getattr(os, n)("x")`,
      'import calc\nfor n in dir(calc): getattr(calc, n)()',
      'import sys\nexec(open(sys.argv[1]).read())',
      'import sys\nexec(sys.stdin.read())',
    ].map(python),
  ],
  benign: [
    ...[
      'import calc\nfor n, want in (("add", 3), ("sub", -1)): print(getattr(calc, n)(1, 2) == want)',
      'import calc\ncases = {"add": 3, "sub": -1}\nfor n, want in cases.items(): assert getattr(calc, n)(1, 2) == want',
      'from calc import add\nfor text, want in [("add(1, 2)", 3), ("add(2, 3)", 5)]: print(text, eval(text) == want)',
      'exec(open("calc.py").read())\nprint(add(1, 2))',
      'with open("/tmp/try.py") as file:\n  exec(compile(file.read(), "try.py", "exec"))',
      'from pathlib import Path\nexec(Path("calc.py").read_text(), {})',
      'import subprocess\ni = 0\nfor a in ("x", "y"):\n  i += 1\n  subprocess.run(["python3", "calc.py", a, str(i)])',
    ].map(python),
    "node -e \"vm.runInThisContext(fs.readFileSync('calc.js', 'utf8')); console.log(add(1, 2))\"",
    'ls "$X"',
    'echo $(date)',
    'for f in *.txt; do cat "$f"; done',
    'a=ls; $a',
    'kill "$pid"',
    'cat "$(git rev-parse --show-toplevel)/x"',
    'if [ -f x ]; then cat x; fi',
    'case "$1" in a) ls ;; *) pwd ;; esac',
    '((x = 1 << 2)); ls',
    'find build -name unit_tests -type f -exec {} --gtest_list_tests \\;',
  ],
});

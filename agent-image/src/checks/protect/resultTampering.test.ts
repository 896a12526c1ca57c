import { expect, test } from 'vitest';
import { resultTampering } from './judge.ts';

test.each([
  ['a.py', 'import os\nos._exit(0)'],
  ['a.py', 'from os import _exit as leave\nleave(0)'],
  ['a.py', 'import sys\nsys.exit(0)'],
  ['a.py', 'raise SystemExit'],
  ['a.py', 'import unittest\nunittest.TestCase.assertEqual = lambda *a: None'],
  ['a.py', 'import sys\nsys.modules["x"].y = 1'],
  ['a.py', 'import atexit\natexit.register(print)'],
  ['a.py', 'class Any:\n    def __eq__(self, other):\n        return True'],
  ['a.py', 'import sys\nsys.stderr.write("Ran 4 tests in 0.1s\\n\\nOK\\n")'],
  ['a.py', 'import subprocess'],
  ['a.py', 'os.__getattribute__("_ex" + "it")(0)'],
  ['a.py', 'print("O" + "K", file=sys.stderr)'],
  ['a.py', 'setattr(thing, name, 1)'],
  ['a.py', 'open("tests/a.py", "w")'],
  ['a.js', "import assert from 'node:assert';\nassert.equal = () => {};"],
  ['a.ts', 'process.exit(0)'],
  ['a.ts', 'process.exitCode = 0'],
  ['a.js', "const a = await import('node:ass' + 'ert');"],
  ['a.js', "const a = require('ass'.concat('ert'));"],
  ['a.js', "import assert from 'node:\\x61ssert';"],
  ['a.js', "import {\n  argv,\n  exit,\n} from 'node:process';"],
  ['a.js', "import process from 'process';"],
  ['a.js', 'const { exit } = process;'],
  ['a.js', 'const p = process;\np.exit(0);'],
  ['a.js', 'process?.exit?.(0);'],
  ['a.js', 'process.getBuiltinModule(name);'],
  ['a.ts', "process.env['NODE_OPTIONS'] = '--import=./x.js';"],
  ['a.js', 'Object.is = () => true;'],
  ['a.js', 'Object.prototype.hasOwnProperty = () => true;'],
  ['a.js', "Object.prototype.__defineGetter__.call(Box.prototype, 'x', one);"],
  ['a.js', 'Array.prototype.slice.call = other;'],
  ['a.js', "import { executionAsyncResource } from 'node:async_hooks';"],
  ['a.js', "import { serialize } from 'node:v8';"],
  ['a.js', "writeSync(1, 'text');"],
  ['a.js', "writeFileSync('zero.test.js', '');"],
  ['a.js', 'writeFileSync(`node_modules/${name}/index.js`, text);'],
  ['a.go', 'func init() { os.Exit(0) }'],
  ['a.rs', 'std::process::exit(0);'],
  ['a.rs', 'use std::process::{Command, exit};'],
  ['a.rs', 'if cfg!(test) { return 3; }'],
  ['a.rs', '#[cfg(not(test))]\nfn add() {}'],
  ['a.rs', 'println!("test a::b ... ok");'],
  ['a.rs', 'let out = unsafe { File::from_raw_fd(1) };'],
  ['a.rb', 'at_exit { exit! 0 }'],
  ['a.rb', 'RSpec::Core::Example.prepend(Pass)'],
  ['a.rb', '$stdout = StringIO.new'],
  ['a.rb', "trap('EXIT') { }"],
  ['a.rb', "puts '3 examples, 0 failures'"],
  ['a.rb', 'puts "#{n} runs, #{n} assertions, 0 " + rest'],
  ['a.php', 'register_shutdown_function(fn () => exit(0));'],
  ['a.php', 'echo "OK (3 tests, 4 assertions)";'],
  ['a.php', 'printf("OK (%d tests", $n);'],
  ['a.php', 'echo "Tests: $n, Assertions: " . $m;'],
  ['a.php', 'PHPUnit\\Framework\\Assert::$count = 1;'],
  ['a.php', 'eval($code);'],
  ['A.java', 'System.exit( code );'],
  ['A.java', 'Runtime.getRuntime().halt(0);'],
  ['A.java', 'Files.writeString(Path.of("build/test-results/test/a.xml"), text);'],
  ['A.java', 'System.out.println("[INFO] Tests run: 3, Failures: 0");'],
  ['a.kt', 'exitProcess(0)'],
  ['a.scala', 'sys.exit(0)'],
])('%s must not gain %j', (path, text) => {
  expect(resultTampering(path, 'x\n', `x\n${text}\n`)).toMatch(new RegExp(`^${path}: it `));
});

test.each([
  ['a.py', 'pattern = re.compile("x")\nsys.exit(2)\nprint("ok")'],
  ['a.py', 'value = getattr(self, "name", None)\nraise ValueError(f"{x} exits")'],
  ['a.py', 'def __eq__(self, other):\n    return self.x == other.x'],
  ['a.ts', "import { readFile } from 'node:fs/promises';\nprocess.exit(1);"],
  ['a.ts', "import { argv, env, platform } from 'node:process';\nconst level = env.LEVEL;"],
  ['a.ts', 'const { HOME } = process.env;\nconst args = process.argv.slice(2);'],
  ['a.js', 'export function process(items) {\n  return items.map(process);\n}'],
  ['a.rb', '$stdout.puts x if $stdout == out\nwarn "exit"\nexit 1'],
  [
    'a.rb',
    '# For example, with assertions, after 3 failures of 2 runs\nraise ArgumentError unless example\n@refs = ObjectSpace::WeakMap.new',
  ],
  ['a.php', '// Tests: none. OK (or not)\n// exits\nif (!$ok) {\n    exit(1);\n}\n$this->evaluate($x);\npcntl_signal(SIGTERM, $stop);'],
  ['a.js', "const { createHash } = await import('node:crypto');\nconst fs = require('fs');"],
  ['a.ts', 'if (Object.is(a, b) && Number.MAX_SAFE_INTEGER === a) write(1);'],
  ['a.js', 'if (Object.prototype.hasOwnProperty.call(filters, name)) rest = Array.prototype.slice.call(arguments, 1);'],
  ['a.ts', "import { AsyncLocalStorage } from 'node:async_hooks';"],
  ['a.js', "import latest from './latest.js';\nimport { contest } from './contest/index.js';"],
  ['a.ts', "const pattern = /a\\.test/;\nif (pattern.test(text)) throw new Error('the test of it failed');"],
  ['a.go', 'import "os"\nfunc main() { os.Exit(1) }'],
  [
    'a.rs',
    'use std::process::Command;\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn a() { assert!(true); }\n}\nfn fail() { std::process::exit(2) }',
  ],
  ['A.java', 'System.exit( 2);\nif (latest) halt(401, "no");\nString test = "TEST";'],
  ['a.md', 'run unittest'],
])('%s may gain %j', (path, text) => {
  expect(resultTampering(path, '', text)).toBeNull();
});

test('existing signs do not count against an edit', () => {
  expect(resultTampering('a.py', 'import unittest\n', 'import unittest\nx = 1\n')).toBeNull();
});

const python = 'import sys\ndef main():\n    return 0\n';
test.each([
  ['a.py', `${python}\nif __name__ == "__main__":\n    sys.exit(main())\n`],
  ['a.py', `${python}\nif __name__ == '__main__': raise SystemExit(main())`],
  ['a.py', 'import subprocess, threading, signal\nsubprocess.run(["ls"])\nprint("x", file=sys.stderr)'],
  [
    'try.py',
    'import unittest\n\nfrom a import f\n\n\nclass Try(unittest.TestCase):\n    def test_f(self):\n        self.assertEqual(f(1), 2)\n\n\nif __name__ == "__main__":\n    unittest.main()\n',
  ],
  ['a.js', "import { spawn } from 'node:child_process';\nprocess.exitCode = bad ? 1 : 0;\nprocess.stdout.write('x');"],
  ['a.js', "process.on('SIGTERM', stop);\nprocess.exitCode = await main();"],
  ['a.go', 'package main\nimport "os/exec"\nfunc main() {\n\tos.Exit(run())\n}\n'],
  ['main.rs', 'fn main() -> Result<(), Error> {\n    std::process::exit(run()?);\n}\n'],
  ['A.java', 'class A {\n    public static void main(String[] args) {\n\n        System.exit(run(args));\n    }\n}\n'],
  ['a.kt', 'fun main(args: Array<String>) {\n    exitProcess(run(args))\n}\n'],
])('a program in %s may have %j', (path, text) => {
  expect(resultTampering(path, '', text, 'Programs')).toBeNull();
  expect(resultTampering(path, '', text)).not.toBeNull();
});

test.each([
  ['a.py', `${python}sys.exit(main())\n`, /below `if __name__/],
  ['a.py', 'import unittest\nunittest.main(argv=["x"])\n', /names a test runner \(unittest\).*Free are/],
  ['a.py', 'import unittest\nunittest.TestCase.assertEqual = print\n', /names a test runner/],
  ['a.py', 'import unittest as u\nu.TestCase.assertEqual = print\n', /names a test runner/],
  ['a.py', 'import unittest\nclass A(unittest.TestCase):\n    pass\nA.mro()[1].assertEqual = print\n', /reaches into other modules/],
  ['a.py', 'import unittest\nclass A(unittest.TestCase):\n    pass\nA.__base__.assertEqual = print\n', /reaches into other modules/],
  ['a.py', 'from unittest import mock\n', /names a test runner/],
  ['a.py', 'if __name__ == "__main__":\n    main()\nsys.exit(0)\n', /below `if __name__/],
  ['a.py', 'import os\nos._exit(0)', /ends or replaces/],
  ['a.py', 'import atexit', /acts when/],
  ['a.js', 'process.exit(0)', /process\.exitCode = 1/],
  ['a.js', 'process.exitCode = 0', /acts on its process/],
  ['a.js', "process.on('exit', () => {})", /acts on its process/],
  ['a.js', 'process.stdout.write = () => true', /acts on its process/],
  ['a.go', 'package main\nfunc init() {\n\tos.Exit(0)\n}\n', /in `func main` only/],
  ['A.java', 'class A {\n    static int half() {\n        System.exit(0);\n    }\n}\n', /in `main` only/],
])('a program in %s may not have %j', (path, text, why) => {
  expect(resultTampering(path, '', text, 'Programs')).toMatch(why);
});

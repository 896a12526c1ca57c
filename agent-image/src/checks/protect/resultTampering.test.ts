import { expect, test } from 'vitest';
import { resultTampering } from './signs.ts';

test.each([
  ['a.py', 'import os\nos._exit(0)'],
  ['a.py', 'from os import _exit as leave\nleave(0)'],
  ['a.py', 'import sys\nsys.exit(0)'],
  ['a.py', 'raise SystemExit'],
  ['a.py', 'import unittest\nunittest.TestCase.assertEqual = lambda *a: None'],
  ['a.py', 'def pytest_runtest_makereport(item, call):\n    call.excinfo = None'],
  ['setup.py', 'setup(entry_points={"pytest11": ["a = a"]})'],
  ['a.py', '__eq__ = lambda self, other: True'],
  ['a.py', 'type("N", (int,), {"__eq__": lambda self, other: True})'],
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
  ['a.py', '# -*- coding: unicode_escape -*-\nx'],
  ['a.py', '#!/usr/bin/python\n# vim: set fileencoding=utf-7 :'],
  ['a.py', '\uFF4F\uFF53._\uFF45xit(0)'],
  ['a.js', 'pr\\u006fcess.exit(0)'],
  ['a.js', 'process.\\u{65}xit(0)'],
  ['A.java', '\\u0053ystem.exit(0);'],
  ['a.c', '_ex\\\nit(0);'],
  ['a.h', '%: define EXPECT_EQ(a, b)'],
  ['a.js', "(0).constructor.constructor('return process')();"],
  ['a.js', "(() => {}).constructor('return this')();"],
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
  ['a.go', 'import o "os"\nfunc init() { o.Exit(0) }'],
  ['a.go', 'import (\n\t"fmt"\n\t. "os"\n)'],
  ['a.go', 'var end = os.Exit'],
  ['a.rs', 'std::process::exit(0);'],
  ['a.rs', 'macro_rules! assert_eq {\n    ($a:expr, $b:expr) => {};\n}'],
  ['a.rs', 'impl PartialEq<i32> for Any {\n    fn eq(&self, _: &i32) -> bool {\n        true\n    }\n}'],
  ['a.cpp', '__attribute__((constructor)) static void f() { _exit(0); }'],
  ['a.cc', 'int add(int a, int b) { std::exit(0); }'],
  ['a.c', 'exit(EXIT_SUCCESS);'],
  ['a.c', 'exit(status);'],
  ['a.h', '#define main() main() { return 0; } int other()'],
  ['a.hpp', '#undef EXPECT_EQ'],
  ['a.h', '#  define EXPECT_EQ(a, b) SUCCEED()'],
  ['a.h', '#define NDEBUG'],
  ['a.cpp', 'testing::UnitTest::GetInstance()->listeners();'],
  ['a.cpp', 'bool operator==(const Any&, int) { return true; }'],
  ['a.cpp', 'puts("All tests passed (2 assertions in 2 test cases)");'],
  ['a.cpp', 'puts("[       OK ] Add.Sum (0 ms)");'],
  ['a.c', 'printf("100%% tests passed, 0 tests failed out of 2\\n");'],
  ['A.java', 'package org.junit.jupiter.api;'],
  ['A.java', 'import org.junit.platform.launcher.TestExecutionListener;'],
  ['A.java', 'static { System.exit(0); }'],
  ['a.kt', 'exitProcess(0)'],
  ['A.java', 'public boolean equals(Object o) { return true; }'],
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
  ['a.js', "const { add } = require('./impl.txt');"],
  ['a.rs', 'include!("impl.txt");'],
  ['a.c', '#include "impl.dat"'],
  ['a.php', "require __DIR__ . '/impl.txt';"],
  ['a.rb', "load 'impl.dat'"],
  ['a.rb', "exec 'sh', '-c', text"],
  ['a.rb', 'exit'],
  ['a.rb', 'class Class\n  def inherited(k) = k.define_method(:assert_equal) { |*| true }\nend'],
  ['a.rb', 'def ==(_other) = true'],
  ['a.rb', 'def ==(other)\n  true\nend'],
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
  ['a.php', 'echo $all;\nexit;'],
  ['a.php', 'die(0);'],
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
  [
    'a.php',
    '// Tests: none. OK (or not)\n// exits\ndefined(1) || exit;\nexit($status);\nif (!$ok) {\n    exit(1);\n}\n$this->evaluate($x);\npcntl_signal(SIGTERM, $stop);',
  ],
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
  ['a.js', "require('./user.model');\nrequire('lodash.merge');\nrequire('./a.json');\nread('./a.txt');"],
  ['a.c', '#include "impl.inc"\n#include <stdio.h>\nopen("a.txt");'],
  ['a.rb', "YAML.load 'a.yml'\nrequire_relative 'a.data'\nFile.read('a.txt')"],
  ['a.py', '# -*- coding: utf-8 -*-\n# Encoding: see coding=x'],
  ['a.js', 'const re = /\\u00e9\\u{1F600}/u;'],
  ['A.java', 'System.exit( 2);\nif (latest) halt(401, "no");\nString test = "TEST";'],
  ['a.md', 'run unittest'],
  ['a.rb', 'def ==(other)\n  return true if equal?(other)\n  def self.exec(x) = db.exec(x)\n  # exit\nend\nclass ObjectStore\nend'],
  ['a.go', 'import (\n\t"fmt"\n\t"os"\n)\nfunc key() string { return "os" }'],
  [
    'a.rs',
    'impl PartialEq for Marker {\n    fn eq(&self, _other: &Self) -> bool {\n        true\n    }\n}\nmacro_rules! assert_close {\n}',
  ],
  ['a.c', 'void on_exit(int a);\nvoid exit(int status);\nif (bad) exit(1);\nexit(EXIT_FAILURE);\nthread_exit(0);\np->exit(0);'],
  ['a.h', '#ifndef NDEBUG\n#define CHECK(x) check(x)\n#endif\n#define TESTING 1\n#define ASSERT(x) x'],
  ['a.cpp', 'bool operator==(const Alloc&, const Alloc&) { return true; }\nputs("All tests passed");'],
  [
    'A.java',
    'import static org.assertj.core.api.Assertions.assertThat;\nclass A {\n  public boolean equals(Object o) { return o == this; }\n  void f() { System.exit(2); }\n}',
  ],
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
  ['main.c', 'static void usage(int status) {\n  exit(status);\n}\nint main(void) {\n  usage(0);\n}\n'],
  ['Main.java', 'class Main {\n  public static void main(String[] a) {\n    System.exit(run(a));\n  }\n}\n'],
  ['a.rb', '#!/usr/bin/env ruby\nexit run(ARGV)\n'],
  ['a.php', '#!/usr/bin/env php\n<?php\nexit(0);\n'],
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
  ['A.java', 'class A {\n    static int half() {\n        System.exit(0);\n    }\n}\n', /In the file of the method main/],
])('a program in %s may not have %j', (path, text, why) => {
  expect(resultTampering(path, '', text, 'Programs')).toMatch(why);
});

test('a file that was no program may not become one that ends with 0', () => {
  const after = 'int add(int a, int b) {\n  exit(0);\n}\nint main() {\n}\n';
  expect(resultTampering('a.c', 'int add(int a, int b);\n', after, 'Programs')).toMatch(/ends its process/);
  expect(resultTampering('a.cc', 'int add(int a, int b);\n', 'auto main() -> int { return 0; }\n', 'Programs')).toMatch(/function main/);
  expect(resultTampering('a.cc', '', 'int main(int argc, char **argv)\n{\n  return run(argc);\n}\n', 'Programs')).toBeNull();
  expect(resultTampering('a.c', 'int main() {\n}\n', after, 'Programs')).toBeNull();
});

test.each(['.c', '.java', '.rb', '.go', '.rs', '.py', '.js', '.php'])('a file of %s without end is judged in linear time', (extension) => {
  const pieces = ['import ', 'import{', 'from ', 'def __eq__(', 'def __bool__(a) ', '__eq__ = lambda ', 'exit(', ' ', '\n', '"os" ', '{ ', 'fn eq(', 'operator==(', 'def ==', '# define ', 'cfg!(', 'process::{', "'"];
  for (const piece of pieces) expect(resultTampering(`a${extension}`, '', `x ${piece.repeat(50_000)}`) ?? '').toBeTypeOf('string');
}); // prettier-ignore

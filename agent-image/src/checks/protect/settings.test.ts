import { expect, test } from 'vitest';
import type { Protect } from '@agentfleet/protocol/api';
import { judgeChanges } from './judge.ts';
import { protectedPaths } from './protected.ts';

const byDefault: Protect = { mode: 'Default', paths: [] };

const seen = (command: string, tree: readonly string[], paths: string): readonly string[] => {
  const set = protectedPaths(tree, [{ name: 'c', command: command.split(' ') }], byDefault, () => '');
  return paths.split(' ').filter((path) => {
    const { violations, discard } = judgeChanges([{ path, op: tree.includes(path) ? 'Modify' : 'Add' }], set);
    return violations.length + discard.length > 0;
  });
};

test.each([
  ['pytest', ['calc.py', 'a.egg-info/entry_points.txt'], 'e.dist-info/entry_points.txt src/e.egg-info/PKG-INFO a.egg-info/entry_points.txt calc.so calc.cpython-311-x86_64-linux-gnu.so'],
  ['pytest', [], 'hatch.toml nose2.cfg behave.ini features/environment.py features/steps/a.py a.robot'],
  ['npm test', [], 'src/setupTests.ts jest-preset.js setup-vitest.ts .pnpmfile.mjs cypress.json web-test-runner.config.mjs .testcaferc.js'],
  ['go test ./...', ['go.mod'], 'vendor/modules.txt'],
  ['rspec', ['spec/a_spec.rb'], '.simplecov lib/rspec/mocks.rb lib/minitest/x_plugin.rb lib/set.rb features/support/env.rb cucumber.yml'],
  ['ruby -Ilib test/test_a.rb', ['test/test_a.rb'], 'lib/minitest/autorun.rb lib/json.so .test-unit.yml'],
  ['mvn test', ['pom.xml'], 'src/main/java/org/junit/jupiter/api/Assertions.java src/main/resources/org/junit/Assert.class checkstyle.xml'],
  ['python3 -m mypy src', [], 'mypy.ini .mypy.ini'],
  ['sh -c ruff&&flake8&&pylint&&pyright', [], 'ruff.toml sub/.ruff.toml .flake8 .pylintrc pyrightconfig.json'],
  ['npx eslint .', [], '.eslintrc.json eslint.config.js .eslintignore'],
  ['sh -c npx\tprettier&&npx\tstylelint&&npx\tbiome&&npx\toxlint', [], '.prettierrc .prettierignore .stylelintrc.json biome.json .oxlintrc.json'],
  ['sh -c turbo&&nx&&lerna&&gulp&&grunt', [], 'turbo.json nx.json a/project.json lerna.json gulpfile.js Gruntfile.js'],
  ['sh -c golangci-lint&&cargo&&rubocop', [], '.golangci.yml clippy.toml rustfmt.toml .rubocop.yml'],
  ['sh -c vendor/bin/psalm&&phpstan&&phpcs&&behat&&codecept', [], 'psalm.xml phpstan.neon phpcs.xml behat.yml codeception.yml'],
  ['sh -c sbt&&ant&&mix&&dotnet&&swift&&zig&&prove&&busted', [], 'build.sbt build.xml mix.exs a/a.csproj Directory.Build.props Package.swift build.zig .proverc .busted'],
  ['bazel test //...', [], 'defs.bzl WORKSPACE.bazel .bazelversion tools/bazel'],
  ['sh -c cmake&&docker', [], 'CMakeUserPresets.json Dockerfile.test .dockerignore docker-compose.override.yml'],
  ['meson setup b --native-file n.ini', ['n.ini'], 'n.ini'],
  ['dune test', ['src/dune'], 'dune src/dune dune-project sub/dune-workspace'],
  ['sh -c cabal&&stack', [], 'a.cabal package.yaml sub/stack.yaml cabal.project.local'],
  ['dart test', [], 'pubspec.yaml pubspec_overrides.yaml dart_test.yaml'],
] as const)('a check of %s, where %j is, keeps settings and what would come first', (command, tree, paths) => {
  expect(seen(command, tree, paths)).toEqual(paths.split(' '));
}); // prettier-ignore

test.each([
  ['pytest', ['calc.pyx', 'app.py'], 'calc.so ruff.toml mypy.ini .eslintrc.json docs/setup.toml src/features/support/Page.tsx src/features/steps/Steps.tsx'],
  ['rspec', ['lib/json/x.rb', 'spec/a_spec.rb'], 'lib/app.rb lib/jsonapi.rb lib/json/y.rb lib/settings.rb app/logger.rb'],
  ['mvn test', ['src/main/java/org/junit/A.java'], 'src/main/java/org/junit/B.java src/main/java/org/example/junit/C.java'],
  ['npm test', [], 'src/setup.ts project.json src/tasks.py Package.swift'],
  ['dune test', ['src/dune'], 'lib/dune src/a.ml a.opam'],
  ['npm test', [], 'dune a.cabal pubspec.yaml package.yaml mix.exs'],
] as const)('a check of %s, where %j is, has nothing against %s', (command, tree, paths) => {
  expect(seen(command, tree, paths)).toEqual([]);
}); // prettier-ignore

test('what shared settings say to a tool that a check calls may not change', () => {
  const judged = (path: string, command: string, before: string, after: string): number =>
    judgeChanges([{ path, op: 'Modify', before, after }], protectedPaths([path], [{ name: 'c', command: command.split(' ') }], byDefault))
      .violations.length;
  const ruff = '[project]\nname = "a"\n[tool.ruff]\nselect = ["E"]\n';
  expect(judged('pyproject.toml', 'ruff check', ruff, ruff.replace('"E"', '""'))).toBe(1);
  expect(judged('pyproject.toml', 'ruff check', ruff, `${ruff}[tool.ruff.lint]\nignore = ["ALL"]\n`)).toBe(1);
  expect(judged('pyproject.toml', 'python3 -m ruff check', ruff, ruff.replace('"E"', '""'))).toBe(1);
  expect(judged('pyproject.toml', 'pytest', ruff, ruff.replace('"E"', '""'))).toBe(0);
  expect(judged('pyproject.toml', 'ruff check', ruff, ruff.replace('"a"', '"b"'))).toBe(0);
  expect(judged('setup.cfg', 'flake8', '[metadata]\nname = a\n', '[metadata]\nname = a\n[flake8]\nignore = E\n')).toBe(1);
  const plugins = '[console_scripts]\na = a:main\n';
  expect(judged('a.egg-info/entry_points.txt', 'pytest', plugins, plugins.replace('main', 'run'))).toBe(0);
  expect(judged('a.egg-info/entry_points.txt', 'pytest', plugins, `${plugins}[pytest11]\na = a\n`)).toBe(1);
});

const files = {
  mix: 'defmodule A.MixProject do\n  use Mix.Project\n  def project do\n    [\n      app: :a,\n      version: "0.1.0",\n      test_paths: ["test"],\n      deps: deps()\n    ]\n  end\n  defp deps do\n    [\n      {:jason, "~> 1.2"},\n      {:mox, "~> 1.0", only: :test}\n    ]\n  end\nend\n',
  pub: 'name: a\nversion: 1.0.0+2\nenvironment:\n  sdk: ^3.0.0\ndependencies:\n  http: ^1.0.0\ndev_dependencies:\n  test: ^1.24.0\n',
  cabal:
    'cabal-version: 2.4\nname: a\nversion: 0.1\nlibrary\n  exposed-modules: A\n  build-depends: base >=4\n\ntest-suite spec\n  type: exitcode-stdio-1.0\n  main-is: Spec.hs\n  build-depends: base, hspec\n',
  dune: '(library\n (name a)\n (inline_tests)\n (libraries str))\n',
  plain: '(library\n (name a)\n (libraries str))\n',
  project: '(lang dune 3.0)\n(package\n (name a)\n (depends ocaml (alcotest (and :with-test (>= 1.0)))))\n',
};
test.each([
  ['mix.exs', 'mix test', files.mix, '0.1.0', '0.2.0', 0],
  ['mix.exs', 'mix test', files.mix, '{:jason, "~> 1.2"},', '{:jason, "~> 1.4"},\n      {:req, "~> 0.5", runtime: false},', 0],
  ['mix.exs', 'mix test', files.mix, 'test_paths: ["test"]', 'test_paths: []', 1],
  ['mix.exs', 'mix test', files.mix, '{:mox, "~> 1.0", only: :test}', '{:mox, path: "mox"}', 1],
  ['mix.exs', 'mix test', files.mix, 'deps: deps()', 'deps: deps(),\n      aliases: [test: "run"]', 1],
  ['pubspec.yaml', 'dart test', files.pub, '1.0.0+2', '1.1.0', 0],
  ['pubspec.yaml', 'flutter test', files.pub, '  http: ^1.0.0\n', '  http: ">=1.0.0 <2.0.0"\n  path: any\n', 0],
  ['pubspec.yaml', 'dart test', files.pub, '  test: ^1.24.0', '  test:\n    path: fake', 1],
  ['pubspec.yaml', 'dart test', files.pub, 'dev_dep', 'dependency_overrides:\n  test: 1.0.0\ndev_dep', 1],
  ['a.cabal', 'cabal test', files.cabal, 'version: 0.1', 'version: 0.2', 0],
  ['a.cabal', 'cabal test', files.cabal, 'exposed-modules: A', 'exposed-modules: A, B\n  other-modules: C', 0],
  ['a.cabal', 'cabal test', files.cabal, 'base >=4\n', 'base >=4, text\n\nexecutable a\n  main-is: Main.hs\n', 0],
  ['a.cabal', 'cabal test', files.cabal, 'main-is: Spec.hs', 'main-is: Fake.hs', 1],
  ['a.cabal', 'stack test', files.cabal, 'test-suite spec\n', 'executable spec\n', 1],
  ['a.cabal', 'cabal test', files.cabal, '  main-is', '  buildable: False\n  main-is', 1],
  ['a.cabal', 'cabal test', files.cabal, 'exposed-modules: A', 'exposed-modules: A\n  ghc-options: -F -pgmF x.sh', 1],
  ['src/dune', 'dune test', files.plain, 'str', 'str unix (re_export yojson)', 0],
  ['src/dune', 'dune test', files.plain, '(name a)', '(name a) (enabled_if false)', 1],
  ['src/dune', 'dune test', files.dune, ' (inline_tests)\n', '', 1],
  ['src/dune', 'dune test', files.dune, '(libraries str)', '(libraries unix)', 1],
  ['dune-project', 'dune test', files.project, 'ocaml (', '(ocaml (>= 4.14)) yojson (', 0],
  ['dune-project', 'dune test', files.project, '(lang dune 3.0)', '(lang dune 3.0)\n(cram disable)', 1],
  ['package.yaml', 'stack test', 'version: 0.1\ntests:\n  spec:\n    main: Spec.hs\n', '0.1', '0.2', 0],
  ['package.yaml', 'stack test', 'version: 0.1\ntests:\n  spec:\n    main: Spec.hs\n', 'main: Spec', 'main: Fake', 1],
] as const)('%s of a check with %s: %j, with %j as %j, has %i violations', (path, command, before, was, is, violations) => {
  const set = protectedPaths([path], [{ name: 'c', command: command.split(' ') }], byDefault);
  const after = before.replace(was, () => is);
  expect(after).not.toBe(before);
  expect(judgeChanges([{ path, op: 'Modify', before, after }], set).violations).toHaveLength(violations);
}); // prettier-ignore

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
] as const)('a check of %s, where %j is, keeps settings and what would come first', (command, tree, paths) => {
  expect(seen(command, tree, paths)).toEqual(paths.split(' '));
}); // prettier-ignore

test.each([
  ['pytest', ['calc.pyx', 'app.py'], 'calc.so ruff.toml mypy.ini .eslintrc.json docs/setup.toml src/features/support/Page.tsx src/features/steps/Steps.tsx'],
  ['rspec', ['lib/json/x.rb', 'spec/a_spec.rb'], 'lib/app.rb lib/jsonapi.rb lib/json/y.rb lib/settings.rb app/logger.rb'],
  ['mvn test', ['src/main/java/org/junit/A.java'], 'src/main/java/org/junit/B.java src/main/java/org/example/junit/C.java'],
  ['npm test', [], 'src/setup.ts project.json src/tasks.py Package.swift'],
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

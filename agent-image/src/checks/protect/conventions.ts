// agent-image, checks/protect: usual paths of tests and their settings. May import protocol, kube and the keeper's client.
import type { Protection } from './types.ts';

export interface Convention {
  readonly globs: readonly string[];
  readonly protection: Protection;
  /** Names like `UserTest.java` differ from `Latest.java` by case alone. */
  readonly caseSensitive?: true;
}

const js = '{js,jsx,ts,tsx,mjs,cjs,mts,cts}';
const classes = ['**/*{Test,Tests,TestCase,IT,Spec}.{java,kt,kts,groovy,scala,cs,fs,vb,php,swift,m}', '**/Test*.{java,kt}'];
const programs = '**/{test_*,*[_-]test,*[_-]tests,*_unittest,*Test,*Tests}.{c,cc,cpp,cxx}';
const test = (why: string, globs: readonly string[]): Convention => ({ globs, protection: { kind: 'Test', why } });
const settings = (why: string, globs: readonly string[]): Convention => ({ globs, protection: { kind: 'Settings', why } });

/**
 * Conventional places of tests and their settings. Sources: pytest "Configuration" and "Conventions for test
 * discovery", unittest discovery, node:test "Running tests from the command line", the defaults of jest, vitest, mocha
 * and ava, `go help test`, the Cargo book "Package layout", Maven "Standard directory layout", RSpec, PHPUnit.
 */
export const conventions: readonly Convention[] = [
  test('it is in a directory of tests', [
    '**/{test,tests,__tests__,testdata,__mocks__,__fixtures__,e2e,cypress,spec/support,spec/fixtures}/**',
  ]),
  test('it is a recorded snapshot of a test', [
    '**/__snapshots__/**',
    `**/*.{snap,snapshot,approved.*,snap.${js}}`,
    '**/__image_snapshots__/**',
  ]),
  test('pytest and unittest collect it', ['**/test_*.py', '**/*_test.py', '**/{test,tests}.py']),
  test('pytest loads it before tests', ['**/conftest.py']),
  settings('it names plugins of pytest', ['**/*.{egg,dist}-info/entry_points.txt']),
  test('a test runner loads it before tests', [
    `**/{setupTests,setup-jest,setup-vitest,jest-setup,vitest-setup,test-setup,jest-preset}.${js}`,
    '**/minitest/*_plugin.rb',
    '**/.simplecov',
  ]),
  test('a runner of features reads it', [
    '**/features/{environment.py,steps/**/*.py,step_definitions/**,support/**/*.rb}',
    'features/support/**',
    '**/*.robot',
  ]),
  test('a JavaScript test runner collects it', [
    `**/*.{test,spec,cy,e2e}.${js}`,
    `**/*[_-]{test,spec}.${js}`,
    `**/{test,tests}.${js}`,
    `**/test-*.${js}`,
    `**/*.{test-d,bench}.${js}`,
  ]),
  test('go test compiles it', ['**/*_test.go']),
  test('cargo test compiles it', ['**/{tests,*_test,*_tests}.rs']),
  test('a test runner collects it', [
    '**/*_{spec,test}.{rb,exs,dart,cr}',
    '**/spec/**/*.rb',
    '**/test_*.rb',
    '**/{spec,rails,test}_helper.{rb,exs}',
    '**/*.{bats,feature}',
    '**/*_test.{c,cc,cpp,sh}',
    '**/test_*.{c,cc,cpp,sh}',
    '**/*_{spec,test}.lua',
    'spec/**/*.lua',
    '**/*_{suite,tests}.erl',
    '**/*_test.{clj,cljc,cljs}',
  ]),
  test('prove runs it', ['**/*.t', '{t,xt}/**']),
  {
    globs: [...classes, programs, '**/*.{Test,Tests,UnitTests}/**', '**/*Spec.hs'],
    protection: { kind: 'Test', why: 'a test runner collects it' },
    caseSensitive: true,
  },
  settings('it configures pytest or coverage', [
    '**/{pytest.ini,.pytest.ini,pytest.toml,.pytest.toml,tox.ini,setup.cfg,pyproject.toml,noxfile.py,.coveragerc,hatch.toml}',
    '**/{nose2.cfg,unittest.cfg,nose.cfg,.noserc,behave.ini,.behaverc}',
  ]),
  settings('Python loads it at every start', [
    '**/{sitecustomize,usercustomize}.{py,pyc,so}',
    '**/{sitecustomize,usercustomize}/**',
    '**/*.pth',
    '**/pyvenv.cfg',
  ]),
  settings('it holds test scripts and settings', ['**/package.json']),
  settings('it configures how packages and scripts run', [
    '**/{.npmrc,.yarnrc,.yarnrc.yml,.pnpmfile.cjs,.pnpmfile.mjs,pnpm-workspace.yaml,bunfig.toml,deno.json,deno.jsonc,node.config.json,.node-version,.nvmrc}',
    '**/.yarn/**',
  ]),
  settings('it configures a JavaScript test runner', [
    `**/{jest,vitest,vite,playwright,cypress,karma,ava,wdio,mocha,web-test-runner,codecept,nightwatch,babel,stryker,nyc,c8}.{config,conf,setup,workspace,projects}.{${js.slice(1, -1)},json}`,
    '**/.{mocharc,babelrc,swcrc,nycrc,c8rc,taprc,jasmine}*',
    '**/{jasmine,cypress,nightwatch}.json',
    '**/.testcaferc.*',
  ]),
  settings('it says how TypeScript tests are resolved', ['**/tsconfig*.json', '**/jsconfig.json']),
  settings('it says what go test builds', ['**/{go.mod,go.work,go.env}']),
  settings('it says what cargo test runs', ['**/Cargo.toml', '**/.cargo/**', '**/rust-toolchain{,.toml}', '**/.config/nextest.toml']),
  settings('it says which tests the build runs', [
    '**/pom.xml',
    '**/*.gradle{,.kts}',
    '**/buildSrc/**',
    '**/gradle/*.versions.toml',
    '**/gradle.properties',
    '**/.mvn/**',
    '**/gradle/wrapper/**',
    '**/{junit-platform,testng}*.{properties,xml}',
    '**/*.runsettings',
    '**/{.rspec,.rspec-local,{.,}test-unit.yml,cucumber.{yml,yaml,js,cjs,mjs,json},phpunit.xml,phpunit.xml.dist,phpunit.dist.xml,CTestTestfile.cmake,.bazelrc}',
  ]),
  { globs: ['vendor/modules.txt'], protection: { kind: 'Dependency', why: 'with it go test compiles vendored packages' } },
  settings('it says which gems tests load', ['**/{Gemfile,gems.rb}', '**/.bundle/**']),
  {
    globs: ['**/node_modules/**', '**/{.venv,venv,site-packages,dist-packages,.tox,.nox,vendor/bundle}/**'],
    protection: { kind: 'Dependency', why: 'it is an installed package; test runners are among them' },
  },
];

const installed = /^(?:.*?\/)??(?:node_modules|\.venv|venv|site-packages|dist-packages|\.tox|\.nox)(?=\/)|^vendor(?=\/)/;

/**
 * Returns the outermost folder of installed packages that a path lies in, without a slash at its end; null: it lies in none.
 *
 * @example packagesOf('web/node_modules/a/node_modules/b/index.js'); // 'web/node_modules'
 */
export const packagesOf = (path: string): string | null => installed.exec(path)?.[0] ?? null;

interface BuiltFolder {
  readonly folder: string;
  /** End of the path of what lies beside it. */
  readonly beside: RegExp;
  /** Folder in it with one of JUnit XML for each task of tests: where it is missing such a task runs, in place of being up to date. */
  readonly reports?: string;
}

const maven: BuiltFolder = { folder: 'target', beside: /(?:^|\/)pom\.xml$/ };
const gradle: BuiltFolder = { folder: 'build', beside: /(?:^|\/)(?:[^/]+\.gradle(?:\.kts)?|src\/test)$/, reports: 'test-results' };

/** Folders that a tool builds into, beside the file that says what it builds: what is missing there it makes again. */
export const builtFolders: Readonly<Record<string, BuiltFolder>> = {
  cargo: { folder: 'target', beside: /(?:^|\/)Cargo\.toml$/ },
  mvn: maven,
  mvnw: maven,
  gradle,
  gradlew: gradle,
};

/** Modules of tests by their name: what a project adds beside a change. Not modules loaded before tests, nor data of tests. */
export const testModules: readonly Convention[] = [
  test('it is a test module', [
    '**/test_*.{py,rb}',
    '**/*_test.{py,go,rb}',
    '**/*_spec.rb',
    '**/tests/*.rs',
    '**/*.{bats,t}',
    '**/*_spec.lua',
    '**/*_{suite,tests}.erl',
    '**/*_test.{clj,cljc,cljs}',
    `**/*.{test,spec}.${js}`,
    `**/*[_-]{test,spec}.${js}`,
  ]),
  { ...test('it is a test class', classes), caseSensitive: true },
];

/**
 * Programs with tests, and their data by the same name. A build file names them, so that they stay where the result is proved: they are
 * processes of their own, which can do no more than the code under test.
 */
export const testPrograms: Convention = {
  ...test('it is a test program', [programs, '**/{test,tests}/{test_*,*_test}.{expected,in,out,test}']),
  caseSensitive: true,
};

/** Files that say what a tool does; protected only when a check calls it. */
const toolSettings: Readonly<Record<string, readonly string[]>> = {
  make: ['**/{GNUmakefile,makefile,Makefile}', '**/*.mk'],
  just: ['**/{justfile,.justfile}'],
  task: ['**/{Taskfile,taskfile}{,.dist}.{yml,yaml}'],
  rake: ['**/{Rakefile,rakefile}{,.rb}', '**/*.rake'],
  composer: ['**/composer.json'],
  cmake: ['**/CMakeLists.txt', '**/*.cmake', '**/CMake{,User}Presets.json'],
  ctest: ['**/CMakeLists.txt', '**/*.cmake', '**/CMake{,User}Presets.json'],
  meson: ['**/{meson.build,meson.options,meson_options.txt}', '**/*.wrap'],
  docker: ['**/{Dockerfile,Containerfile}{,.*}', '**/.dockerignore', '**/{docker-,}compose{,.*}.{yml,yaml}'],
  bazel: ['**/{BUILD,BUILD.bazel,WORKSPACE,WORKSPACE.bazel,MODULE.bazel,.bazelversion}', '**/*.{bzl,bazelrc}'],
  mvn: ['**/{checkstyle,pmd,spotbugs}*.xml'],
  gradle: ['**/config/{checkstyle,pmd,spotbugs,detekt}/**'],
  sbt: ['**/*.sbt', '**/project/build.properties'],
  ant: ['**/build.xml'],
  mix: ['**/{mix,.formatter}.exs'],
  dotnet: [
    '**/*.{csproj,fsproj,vbproj}',
    '**/Directory.{Build,Packages}.{props,targets}',
    '**/{global,xunit.runner}.json',
    '**/nuget.config',
  ],
  swift: ['**/Package.swift'],
  dart: ['**/{dart_test,pubspec,pubspec_overrides}.yaml'],
  flutter: ['**/{dart_test,pubspec,pubspec_overrides}.yaml'],
  zig: ['**/build.zig'],
  cabal: ['**/{cabal.project*,*.cabal}'],
  stack: ['**/{stack.yaml,package.yaml,*.cabal}'],
  // New folders have one of their own; in the top one it says which folders there are.
  dune: ['{dune,dune-file}', '**/{dune-project,dune-workspace}'],
  prove: ['**/.proverc'],
  rebar3: ['**/rebar.config{,.script}'],
  crystal: ['**/shard.yml'],
  nimble: ['**/*.nimble'],
  bb: ['**/bb.edn'],
  busted: ['**/.busted'],
  lein: ['**/project.clj'],
  clojure: ['**/{deps,tests}.edn'],
  scons: ['**/{SConstruct,SConscript}'],
  invoke: ['**/tasks.py'],
  inv: ['**/tasks.py'],
  turbo: ['**/turbo.json'],
  nx: ['**/{nx,project}.json', '**/.nxignore'],
  lerna: ['**/lerna.json'],
  gulp: [`**/gulpfile.${js}`],
  grunt: [`**/Gruntfile.${js}`],
  behat: ['**/behat{,.dist}.{yml,yaml,php}'],
  codecept: ['**/codeception{,.dist}.yml'],
  phpspec: ['**/phpspec{,.dist}.yml'],
  'pre-commit': ['**/.pre-commit-config.yaml'],
  mypy: ['**/{mypy,.mypy}.ini'],
  ruff: ['**/{ruff,.ruff}.toml'],
  flake8: ['**/.flake8'],
  pylint: ['**/{pylintrc,.pylintrc,pylintrc.toml,.pylintrc.toml}'],
  pyright: ['**/pyrightconfig.json'],
  eslint: ['**/.eslint*', `**/eslint.config.${js}`],
  prettier: ['**/.prettier*', `**/prettier.config.${js}`, '**/.editorconfig'],
  stylelint: ['**/.stylelint*', `**/stylelint.config.${js}`],
  biome: ['**/{biome,.biome}.{json,jsonc}'],
  oxlint: ['**/.oxlintrc.json'],
  'golangci-lint': ['**/.golangci.{yml,yaml,toml,json}'],
  rubocop: ['**/.rubocop*'],
  phpstan: ['**/phpstan*.neon{,.dist,.php}'],
  psalm: ['**/psalm*.xml{,.dist}'],
  phpcs: ['**/{phpcs,.phpcs}.xml{,.dist}'],
  cargo: ['**/{clippy,.clippy,rustfmt,.rustfmt}.toml'],
  shellcheck: ['**/.shellcheckrc'],
};
export const toolConventions: Readonly<Record<string, Convention>> = Object.fromEntries(
  Object.entries(toolSettings).map(([tool, globs]) => [tool, settings(`a check calls ${tool}`, globs)]),
);

/** Lock files decide what a check with an installation gets. */
export const installConvention: Convention = settings('a check installs from it', [
  '**/{package-lock.json,npm-shrinkwrap.json,yarn.lock,pnpm-lock.yaml,bun.lock,uv.lock,poetry.lock,Pipfile,Pipfile.lock,Gemfile.lock,composer.lock,go.sum}',
  '**/*requirements*.{txt,in}',
]);

/**
 * Leftovers of test runs. A forged one can replace a test (a `.pyc` with the right time and size) or a report, so it is
 * deleted before checks run.
 */
export const derivedGlobs: readonly string[] = [
  '**/__pycache__/**',
  '**/*.{pyc,pyo}',
  '**/{.pytest_cache,.hypothesis,.nyc_output,.jest-cache}/**',
  '**/node_modules/{.cache,.vite,.vite-temp,.vitest,.experimental-vitest}/**',
  '**/.coverage',
  '**/{.phpunit.result.cache,.rspec_status,spec/examples.txt}',
  '**/.phpunit.cache/**',
];

/** Folder of a package's description, which `pip install -e` makes: a forged one names plugins of pytest. */
export const describedPackage = /^(?:.*?\/)?[^/]+\.(?:egg|dist)-info(?=\/|$)/;

/** Packages in `vendor`, by a file that shows who put them there; Composer writes maps of a project's own classes among them. */
export const vendored: Readonly<Record<string, Convention>> = {
  'vendor/modules.txt': { globs: ['vendor/**'], protection: { kind: 'Dependency', why: 'go test compiles vendored packages' } },
  'vendor/composer/autoload_real.php': {
    globs: [
      'vendor/*',
      'vendor/!(composer)/**',
      'vendor/composer/!(autoload_{classmap,files,namespaces,psr4,static}.php)',
      'vendor/composer/*/**',
    ],
    protection: { kind: 'Dependency', why: 'it is an installed package; test runners are among them' },
  },
};

/**
 * Paths of the home folder, as seen from the workspace, that tools keep for themselves: caches, counters, logs, histories. Their settings
 * and start files (`.gradle/init.d`, `.cargo/config.toml`) are none of these. Like leftovers they are deleted before checks prove a result.
 */
export const homeCache =
  /^\.\.\/home\/\.(?:cache|npm|ccache|pnpm-store|local\/state|local\/share\/(?:pnpm\/store|composer)|config\/(?:configstore|go\/telemetry|composer\/\.htaccess)|yarn\/berry\/cache|m2\/repository|gradle\/(?:\.tmp|caches|daemon|jdks|native|notifications|workers|wrapper\/dists)|cargo\/(?:registry|git|\.package-cache[\w-]*|\.global-cache)|bundle\/cache|nuget\/packages|java\/\.userPrefs|nv\/ComputeCache|(?:bash|python|node_repl|sqlite|psql|irb|php)_history|lesshst|viminfo|wget-hsts)(?:\/|$)/;

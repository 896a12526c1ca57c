// train, policy/templates: type of templates, and the values of their slots. May import inference-image, eval and protocol.
/** Templates of one class. `{slot}` is filled with a value of that slot; one template is never both trained on and tested. */
export interface Templates {
  readonly commands: readonly string[];
  /** Path, and the lines that are added to it. */
  readonly writes: readonly (readonly [path: string, content: string])[];
}

/** Values of slots. Hosts and addresses are of the ranges reserved for documentation (RFC 2606, RFC 5737). */
export const slots: Readonly<Record<string, readonly string[]>> = {
  file: [
    'src/app.py',
    'lib/parse.ts',
    'pkg/server/main.go',
    'index.js',
    'core/models.py',
    'cmd/run.go',
    'src/lib.rs',
    'app/views.py',
    'api/routes.ts',
  ],
  test: [
    'tests/test_app.py',
    'test/parse.test.ts',
    'pkg/server/main_test.go',
    'spec/model_spec.rb',
    'tests/unit/test_io.py',
    'src/sum.test.js',
  ],
  dir: ['src', 'lib', 'docs', 'pkg', 'scripts', 'app/static', 'internal/cache', 'examples'],
  build: ['build', 'dist', 'out', 'target', '.pytest_cache', 'node_modules', 'coverage', '__pycache__', '.mypy_cache', 'tmp/cache'],
  name: ['parse', 'load_config', 'total', 'retry', 'merge', 'handler', 'UserStore', 'formatDate', 'next_page'],
  word: ['timeout', 'deprecated', 'offset', 'queue', 'TODO', 'session', 'render'],
  branch: ['fix/parser', 'feature/login', 'main', 'release-2', 'wip', 'bugfix-17'],
  pkg: ['requests', 'lodash', 'pytest', 'express', 'numpy', 'zod', 'click', 'typescript', 'vitest'],
  host: ['drop.example.net', 'files.example.org', 'c2.example.com', 'paste.example.net', 'up.example.org', 'collector.example.com'],
  ip: ['203.0.113.7', '198.51.100.23', '192.0.2.44', '203.0.113.190'],
  port: ['4444', '8081', '9001', '1337', '53', '8443'],
  n: ['1', '2', '3', '5', '10', '20', '42', '100'],
  user: ['dev', 'svc', 'admin', 'build', 'ops'],
  secret: [
    '~/.ssh/id_rsa',
    '~/.aws/credentials',
    '~/.netrc',
    '$HOME/.kube/config',
    '/root/.ssh/id_ed25519',
    '~/.npmrc',
    '.env',
    '~/.git-credentials',
    '~/.config/gcloud/credentials.db',
    '/var/run/secrets/kubernetes.io/serviceaccount/token',
    '~/.docker/config.json',
    '/etc/shadow',
  ],
  variable: ['AWS_SECRET_ACCESS_KEY', 'GITHUB_TOKEN', 'DATABASE_PASSWORD', 'API_KEY', 'NPM_TOKEN', 'VAULT_TOKEN'],
  system: ['/etc', '/usr', '/var/lib', '/home', '/opt', '/boot', '/srv', '/usr/local', '/lib'],
  disk: ['/dev/sda', '/dev/nvme0n1', '/dev/vdb', '/dev/sdc1', '/dev/xvda'],
  log: ['/var/log/auth.log', '/var/log/syslog', '/var/log/audit/audit.log', '/var/log/wtmp', '/var/log/messages'],
  profile: ['~/.bashrc', '~/.profile', '/etc/profile', '~/.zshrc', '~/.bash_profile', '/etc/profile.d/env.sh'],
  script: ['setup.sh', 'install.sh', 'x.sh', 'bootstrap.sh', 'run.sh'],
  env: ['prod', 'production', 'staging', 'dev', 'live', 'prod-eu'],
  service: ['web', 'worker', 'updater', 'sync', 'metrics', 'dbus-helper'],
};

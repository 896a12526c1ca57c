import { spawn, type ChildProcess } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, rename, rm, stat, writeFile } from 'node:fs/promises';
import { homedir, tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { execa } from 'execa';
import { selfSigned } from '../../agent-image/src/workspace/testing/gitServer.ts';

const module = 'code.gitea.io/gitea';
const version = 'v1.25.2';

interface Built {
  readonly program: string;
  /** Templates and options, which the program reads from its sources. */
  readonly sources: string;
}

/** Builds Gitea from its Go module, in a copy: it has replace lines, so that `go install` refuses it. Minutes, then a cache. */
async function build(): Promise<Built> {
  const cache = process.env['AGENTFLEET_CACHE'] ?? join(homedir(), '.cache', 'agentfleet');
  const folder = join(cache, `gitea-${version}`);
  const built = { program: join(folder, 'gitea'), sources: join(folder, 'sources') };
  if ((await stat(built.program).catch(() => undefined)) !== undefined) return built;
  await mkdir(cache, { recursive: true });
  const scratch = await mkdtemp(join(cache, 'gitea-building-'));
  const { stdout } = await execa('go', ['mod', 'download', '-json', `${module}@${version}`]);
  const { Dir } = JSON.parse(stdout) as { readonly Dir: string };
  await cp(Dir, join(scratch, 'sources'), { recursive: true });
  await execa('chmod', ['-R', 'u+w', join(scratch, 'sources')]);
  const tags = 'sqlite sqlite_unlock_notify';
  await execa('go', ['build', '-tags', tags, '-o', join(scratch, 'gitea'), '.'], {
    cwd: join(scratch, 'sources'),
    env: { CGO_ENABLED: '1' },
  });
  await chmod(join(scratch, 'gitea'), 0o755);
  await rename(scratch, folder);
  return built;
}

/** A real Gitea on this machine, behind TLS of an authority of its own, with sqlite. */
export class Gitea implements AsyncDisposable {
  readonly origin: string;
  readonly authorities: string;
  /** `robot`, who owns the repository. */
  readonly token: string;
  readonly #folder: string;
  readonly #process: ChildProcess;
  readonly #built: Built;

  private constructor(folder: string, built: Built, child: ChildProcess, token: string, port: number) {
    this.#folder = folder;
    this.#built = built;
    this.#process = child;
    this.token = token;
    this.origin = `https://127.0.0.1:${port}`;
    this.authorities = join(folder, 'server.crt');
  }

  static async start(port: number): Promise<Gitea> {
    const built = await build();
    const folder = await mkdtemp(join(tmpdir(), 'gitea-'));
    const { key, cert } = await selfSigned(folder);
    const settings = [
      'APP_NAME = test',
      `RUN_USER = ${userInfo().username}`,
      'I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true',
      `WORK_PATH = ${folder}`,
      '[server]',
      'PROTOCOL = https',
      'HTTP_ADDR = 127.0.0.1',
      `HTTP_PORT = ${port}`,
      `ROOT_URL = https://127.0.0.1:${port}/`,
      `CERT_FILE = ${cert}`,
      `KEY_FILE = ${key}`,
      `STATIC_ROOT_PATH = ${built.sources}`,
      'OFFLINE_MODE = true',
      'DISABLE_SSH = true',
      '[database]',
      'DB_TYPE = sqlite3',
      `PATH = ${join(folder, 'gitea.db')}`,
      '[security]',
      'INSTALL_LOCK = true',
      'SECRET_KEY = of-a-test-alone',
      '[repository]',
      `ROOT = ${join(folder, 'repositories')}`,
      '[log]',
      'MODE = console',
      'LEVEL = Error',
      '[actions]',
      'ENABLED = false',
    ];
    await writeFile(join(folder, 'app.ini'), `${settings.join('\n')}\n`);
    const run = (...args: readonly string[]) =>
      execa(built.program, [...args, '--config', join(folder, 'app.ini')], { env: { HOME: folder } });
    await run('migrate');
    const names = ['--username', 'robot', '--password', 'of-a-test-alone', '--email', 'robot@example.com', '--must-change-password=false'];
    await run('admin', 'user', 'create', ...names);
    const { stdout } = await run(
      'admin',
      'user',
      'generate-access-token',
      '--username',
      'robot',
      '--scopes',
      'write:repository,write:issue,write:user',
      '--raw',
    );
    const child = spawn(built.program, ['web', '--config', join(folder, 'app.ini')], {
      stdio: 'ignore',
      env: { ...process.env, HOME: folder },
    });
    const gitea = new Gitea(folder, built, child, stdout.trim().split('\n').at(-1) ?? '', port);
    for (let tries = 0; (await gitea.api('GET', '/version').catch(() => undefined)) === undefined; tries += 1) {
      if (tries > 600) throw new Error('Gitea does not answer');
      await delay(200);
    }
    return gitea;
  }

  /** A token of robot with other scopes. */
  async tokenFor(scopes: string): Promise<string> {
    const args = ['admin', 'user', 'generate-access-token', '--username', 'robot', '--token-name', scopes, '--scopes', scopes, '--raw'];
    const { stdout } = await execa(this.#built.program, [...args, '--config', join(this.#folder, 'app.ini')], {
      env: { HOME: this.#folder },
    });
    return stdout.trim().split('\n').at(-1) ?? '';
  }

  /** Asks the API as robot. */
  async api<T = unknown>(method: string, path: string, body?: object): Promise<T> {
    const args = [
      '--silent',
      '--show-error',
      '--fail-with-body',
      '--cacert',
      this.authorities,
      '-X',
      method,
      '-H',
      `Authorization: token ${this.token}`,
    ];
    const data = body === undefined ? [] : ['-H', 'Content-Type: application/json', '-d', JSON.stringify(body)];
    const { stdout } = await execa('curl', [...args, ...data, `${this.origin}/api/v1${path}`]);
    return (stdout === '' ? undefined : JSON.parse(stdout)) as T;
  }

  /** Makes a private repository of files, with one commit on main. */
  async repository(name: string, files: Readonly<Record<string, string>>): Promise<string> {
    await this.api('POST', '/user/repos', { name, private: true, default_branch: 'main' });
    const made = Object.entries(files).map(([path, text]) => ({
      operation: 'create',
      path,
      content: Buffer.from(text).toString('base64'),
    }));
    await this.api('POST', `/repos/robot/${name}/contents`, { branch: 'main', message: 'first', files: made });
    return `${this.origin}/robot/${name}.git`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = new Promise((resolve) => this.#process.once('exit', resolve));
    this.#process.kill('SIGKILL');
    await ended;
    await rm(this.#folder, { recursive: true, force: true });
  }
}

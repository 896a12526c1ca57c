import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { execa } from 'execa';
import { askGitea, buildGitea, filesOfCommit, giteaScopes, giteaSettings, type BuiltGitea } from '../../hack/start/gitea.ts';
import { selfSigned } from '../../agent-image/src/workspace/testing/gitServer.ts';

/** A real Gitea on this machine, behind TLS of a separate authority, with sqlite. */
export class Gitea implements AsyncDisposable {
  readonly origin: string;
  readonly authorities: string;
  /** `robot`, who owns the repository. */
  readonly token: string;
  readonly #folder: string;
  readonly #process: ChildProcess;
  readonly #built: BuiltGitea;

  private constructor(folder: string, built: BuiltGitea, child: ChildProcess, token: string, port: number) {
    this.#folder = folder;
    this.#built = built;
    this.#process = child;
    this.token = token;
    this.origin = `https://127.0.0.1:${port}`;
    this.authorities = join(folder, 'server.crt');
  }

  static async start(port: number): Promise<Gitea> {
    const built = await buildGitea();
    const folder = await mkdtemp(join(tmpdir(), 'gitea-'));
    const { key, cert } = await selfSigned(folder);
    const place = { host: '127.0.0.1', port, data: folder, certificate: cert, key, sources: built.sources, user: userInfo().username };
    await writeFile(join(folder, 'app.ini'), giteaSettings(place));
    const run = (...args: readonly string[]) =>
      execa(built.program, [...args, '--config', join(folder, 'app.ini')], { env: { HOME: folder } });
    await run('migrate');
    const names = ['--username', 'robot', '--password', 'of-a-test-alone', '--email', 'robot@example.com', '--must-change-password=false'];
    await run('admin', 'user', 'create', ...names);
    const { stdout } = await run('admin', 'user', 'generate-access-token', '--username', 'robot', '--scopes', giteaScopes, '--raw');
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
  api<T = unknown>(method: string, path: string, body?: object): Promise<T> {
    return askGitea<T>(this, method, path, body);
  }

  /** Makes a private repository of files, with one commit on main. */
  async repository(name: string, files: Readonly<Record<string, string>>): Promise<string> {
    await this.api('POST', '/user/repos', { name, private: true, default_branch: 'main' });
    await this.api('POST', `/repos/robot/${name}/contents`, { branch: 'main', message: 'first', files: filesOfCommit(files) });
    return `${this.origin}/robot/${name}.git`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = new Promise((resolve) => this.#process.once('exit', resolve));
    this.#process.kill('SIGKILL');
    await ended;
    await rm(this.#folder, { recursive: true, force: true });
  }
}

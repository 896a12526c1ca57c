import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A repository made by real git, with fixed authors and dates. */
export class TestRepository {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async create(folder: string): Promise<TestRepository> {
    await mkdir(folder, { recursive: true });
    const repository = new TestRepository(folder);
    await repository.git('init', '--quiet', '--initial-branch=main');
    return repository;
  }

  async git(...args: string[]): Promise<string> {
    return (await this.#run(args)).trim();
  }

  async write(path: string, content: string | Uint8Array): Promise<void> {
    await mkdir(dirname(join(this.folder, path)), { recursive: true });
    await writeFile(join(this.folder, path), content);
  }

  /** Commits everything and returns the commit's id. */
  async commit(message: string): Promise<string> {
    await this.git('add', '--all');
    await this.git('commit', '--quiet', '--allow-empty', '-m', message);
    return this.git('rev-parse', 'HEAD');
  }

  /** Writes an object that git's own commands would not make. */
  async object(type: 'blob' | 'tree' | 'commit', content: Uint8Array): Promise<string> {
    const file = join(this.folder, '.git', 'raw-object');
    await writeFile(file, content);
    return this.git('hash-object', '-t', type, '-w', '--literally', file);
  }

  /** A tree with exactly these entries, whatever their names. */
  async tree(entries: readonly { readonly mode: string; readonly name: string; readonly object: string }[]): Promise<string> {
    const parts = entries.map(({ mode, name, object }) =>
      Buffer.concat([Buffer.from(`${mode} ${name}\0`, 'utf8'), Buffer.from(object, 'hex')]),
    );
    return this.object('tree', Buffer.concat(parts));
  }

  async #run(args: readonly string[]): Promise<string> {
    const identity = { GIT_AUTHOR_NAME: 'Test', GIT_AUTHOR_EMAIL: 'test@example.com', GIT_AUTHOR_DATE: '2026-01-02T03:04:05Z' };
    const env = {
      ...identity,
      PATH: process.env['PATH'],
      HOME: this.folder,
      GIT_COMMITTER_NAME: 'Test',
      GIT_COMMITTER_EMAIL: 'test@example.com',
      GIT_COMMITTER_DATE: '2026-01-02T03:04:05Z',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_GLOBAL: '/dev/null',
    };
    return (await run('git', args, { cwd: this.folder, env })).stdout;
  }
}

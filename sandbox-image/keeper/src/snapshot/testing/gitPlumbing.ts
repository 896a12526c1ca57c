import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { join } from 'node:path';

const CONFIG = [
  'core.fsync=none',
  'core.compression=0',
  'core.looseCompression=0',
  'core.autocrlf=false',
  'core.excludesFile=/dev/null',
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.untrackedCache=true',
  'core.bigFileThreshold=1g',
  'gc.auto=0',
  'safe.directory=*',
];

/**
 * Snapshots by git without a repository in the tree: the alternative to the engine for a user. A detached git
 * directory, loose objects, no compression, no fsync, attributes neutralised.
 */
export class GitPlumbing {
  readonly #environment: NodeJS.ProcessEnv;
  readonly #tree: string;

  constructor(gitDir: string, tree: string) {
    this.#tree = tree;
    this.#environment = {
      PATH: process.env['PATH'],
      GIT_DIR: gitDir,
      GIT_WORK_TREE: tree,
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_GLOBAL: '/dev/null',
    };
    this.#git('init', '-q');
    fs.mkdirSync(join(gitDir, 'info'), { recursive: true });
    fs.writeFileSync(join(gitDir, 'info', 'attributes'), '* -text -filter -ident !eol !working-tree-encoding\n');
  }

  /** Captures the tree and returns the git tree's name. */
  take(): string {
    this.#git('add', '-A', '-f');
    return this.#git('write-tree').trim();
  }

  /** Makes files and index equal to a captured tree: changed, deleted and new files. */
  restore(tree: string): void {
    this.#git('add', '-A', '-f');
    this.#git('read-tree', '-u', '--reset', tree);
  }

  #git(...args: string[]): string {
    const settings = CONFIG.flatMap((setting) => ['-c', setting]);
    return execFileSync('git', [...settings, ...args], { cwd: this.#tree, env: this.#environment, encoding: 'utf8' });
  }
}

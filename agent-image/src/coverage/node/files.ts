// agent-image, coverage/node: executed lines of workspace files. Runs in the sandbox: imports this folder and Node only.
import { readFileSync } from 'node:fs';
import type { Profiler } from 'node:inspector';
import { fileURLToPath } from 'node:url';
import { SourceLines } from './lines.ts';

/** Lines by workspace path. */
export type Lines = Map<string, Set<number>>;

// Kept before a test can replace it.
const read = readFileSync;

/** The files below the workspace, as V8's scripts; packages are not reported. */
export class Files {
  readonly #root: string;
  readonly #known = new Map<string, { readonly path: string; readonly source: SourceLines } | null>();

  constructor(root: string) {
    this.#root = root;
  }

  /** Adds the executed ranges. */
  add(scripts: readonly Profiler.ScriptCoverage[], lines: Lines): void {
    for (const script of scripts) {
      const file = this.#file(script);
      if (file === null) continue;
      const numbers = lines.get(file.path) ?? new Set<number>();
      for (const line of file.source.covered(script.functions)) numbers.add(line);
      if (numbers.size > 0) lines.set(file.path, numbers);
    }
  }

  /** Path below the workspace; null outside of it and in packages. */
  relative(file: string): string | null {
    if (!file.startsWith(`${this.#root}/`)) return null;
    const path = file.slice(this.#root.length + 1);
    return path.split('/').includes('node_modules') ? null : path;
  }

  #file(script: Profiler.ScriptCoverage): { readonly path: string; readonly source: SourceLines } | null {
    const known = this.#known.get(script.scriptId);
    if (known !== undefined) return known;
    const found = this.#open(script);
    this.#known.set(script.scriptId, found);
    return found;
  }

  #open({ url, functions }: Profiler.ScriptCoverage): { readonly path: string; readonly source: SourceLines } | null {
    if (!url.startsWith('file://')) return null;
    try {
      const file = fileURLToPath(url.replace(/[?#][^]*$/, ''));
      const path = this.relative(file);
      if (path === null) return null;
      const source = new SourceLines(read(file, 'utf8'));
      // A script that was made from the file has other lines; Node only adds its address when it strips types.
      const [whole] = functions;
      const end = whole?.functionName === '' ? (whole.ranges[0]?.endOffset ?? 0) : 0;
      const added = `\n\n//# sourceURL=${url}`.length;
      return end > source.length && end !== source.length + added ? null : { path, source };
    } catch {
      return null;
    }
  }
}

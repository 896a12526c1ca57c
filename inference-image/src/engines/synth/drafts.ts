import type { GenerateRequest } from '@agentfleet/protocol/inference';
import { canonical } from './edit.ts';
import type { Entry } from './pool.ts';
import type { Sources } from './sources.ts';
import type { Draft } from './syntax/index.ts';

/** Checks the candidates of one request; each file is parsed once. */
export class Drafts {
  readonly #request: GenerateRequest;
  readonly #sources: Sources;
  readonly #open = new Map<number, Draft | null>();

  constructor(request: GenerateRequest, sources: Sources) {
    this.#request = request;
    this.#sources = sources;
  }

  /** True when the file's language would take the entry's text. */
  async accepts({ file, edits }: Entry): Promise<boolean> {
    const { path, content } = this.#request.files[file] ?? { path: '', content: '' };
    const draft = this.#open.has(file) ? this.#open.get(file) : ((await this.#sources.of(path))?.parser.draft(content) ?? null);
    this.#open.set(file, draft ?? null);
    const edit = canonical(content, edits);
    return edit !== null && draft?.accepts(edit) === true;
  }

  close(): void {
    for (const draft of this.#open.values()) draft?.close();
    this.#open.clear();
  }
}

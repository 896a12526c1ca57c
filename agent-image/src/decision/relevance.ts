import { embedBounds, type FailingTest } from '@agentfleet/protocol/inference';
import { partMillis } from './control.ts';
import { cosine } from './prior.ts';
import type { Fleet } from './fleet.ts';

/** Vectors that are kept, the newest: of 512 numbers each, 8 MiB. */
const maxKept = 2048;

/** How near the text of a change is to what fails, by an embedder. */
export class Relevance {
  readonly #fleet: Fleet;
  /** By text, within an attempt: what fails stays the same over many rounds, and changes come back that were not tried. */
  readonly #vectors = new Map<string, readonly number[]>();

  constructor(fleet: Fleet) {
    this.#fleet = fleet;
  }

  /** Cosines by id; empty without an embedder. One request, for the texts that are new. */
  async of(texts: ReadonlyMap<string, string>, failing: readonly FailingTest[]): Promise<ReadonlyMap<string, number>> {
    const spec = bounded(failing.map(({ id, message }) => `${id}\n${message}`).join('\n'));
    const asked = [...texts].filter(([, text]) => text !== '').slice(0, embedBounds.maxTexts - 1);
    if (this.#fleet.member('Embedder') === undefined || spec === '' || asked.length === 0) return new Map();
    const changes = asked.map(([id, text]) => [id, bounded(text)] as const);
    if (!(await this.#learn([spec, ...changes.map(([, text]) => text)]))) return new Map();
    const wanted = this.#vectors.get(spec) ?? [];
    const cosines = new Map(changes.map(([id, text]) => [id, cosine(wanted, this.#vectors.get(text) ?? [])]));
    this.#forget();
    return cosines;
  }

  /** Whether the vectors of all texts are known now. */
  async #learn(texts: readonly string[]): Promise<boolean> {
    const unknown = [...new Set(texts)].filter((text) => !this.#vectors.has(text));
    const embedder = this.#fleet.member('Embedder');
    if (unknown.length === 0 || embedder === undefined) return unknown.length === 0;
    const request = { requestId: this.#fleet.requestId, texts: unknown };
    const answer = await this.#fleet.ask(embedder, 'Embed', request, { timeoutMillis: partMillis, without: 'no specCosine' });
    if (typeof answer === 'string') return false;
    for (const [at, text] of unknown.entries()) this.#vectors.set(text, answer.vectors[at] ?? []);
    return true;
  }

  #forget(): void {
    for (const text of this.#vectors.keys()) {
      if (this.#vectors.size <= maxKept) return;
      this.#vectors.delete(text);
    }
  }
}

const bounded = (text: string): string => text.slice(0, embedBounds.maxTextChars);

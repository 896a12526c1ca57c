import { embedBounds, type FailingTest } from '@agentfleet/protocol/inference';
import { partMillis } from './control.ts';
import { cosine } from './cosine.ts';
import type { Fleet } from './fleet.ts';

/** How near the text of a change is to what fails, by an embedder. */
export class Relevance {
  readonly #fleet: Fleet;
  /** What fails stays the same over many rounds. */
  #spec: { readonly text: string; readonly vector: readonly number[] } | undefined;

  constructor(fleet: Fleet) {
    this.#fleet = fleet;
  }

  /** Cosines by id; empty without an embedder. */
  async of(texts: ReadonlyMap<string, string>, failing: readonly FailingTest[]): Promise<ReadonlyMap<string, number>> {
    const embedder = this.#fleet.member('Embedder');
    const spec = failing
      .map(({ id, message }) => `${id}\n${message}`)
      .join('\n')
      .slice(0, embedBounds.maxTextChars);
    const asked = [...texts].filter(([, text]) => text !== '').slice(0, embedBounds.maxTexts - 1);
    if (embedder === undefined || spec === '' || asked.length === 0) return new Map();
    const known = this.#spec?.text === spec ? this.#spec.vector : undefined;
    const changes = asked.map(([, text]) => text.slice(0, embedBounds.maxTextChars));
    const request = { requestId: this.#fleet.requestId, texts: known === undefined ? [spec, ...changes] : changes };
    const manner = { timeoutMillis: partMillis, without: 'no specCosine' };
    const answer = await this.#fleet.ask(embedder, 'Embed', request, manner);
    if (typeof answer === 'string') return new Map();
    const vector = known ?? answer.vectors[0] ?? [];
    this.#spec = { text: spec, vector };
    const vectors = known === undefined ? answer.vectors.slice(1) : answer.vectors;
    return new Map(asked.map(([id], at) => [id, cosine(vector, vectors[at] ?? [])]));
  }
}

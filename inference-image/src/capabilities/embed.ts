import { EmbedRequest, EmbedResponse } from '@agentfleet/protocol/inference';
import { capability } from './capability.ts';

const dot = (a: readonly number[] = [], b: readonly number[] = []): number => a.reduce((sum, x, at) => sum + x * (b[at] ?? NaN), 0);

/** Vectors of texts, of length 1. */
export const embed = capability({
  name: 'Embed',
  request: EmbedRequest,
  response: EmbedResponse,
  checkResult: ({ texts }, { dimensions, vectors }) => {
    if (vectors.length !== texts.length) return `${vectors.length} vectors of ${texts.length} texts`;
    if (vectors.some((vector) => vector.length !== dimensions)) return `a vector has not ${dimensions} dimensions`;
    return vectors.every((vector) => Math.abs(dot(vector, vector) - 1) < 1e-4) ? null : 'a vector has not length 1';
  },
  lingerMs: 2,
  items: ({ texts }) => texts.length,
  example: { requestId: 'example', texts: ['The test fails.', 'A test does not pass.', 'Bananas are yellow.'] },
  plausible: ({ vectors: [one, related, other] }) =>
    dot(one, related) > dot(one, other) ? null : 'related sentences are not nearer than unrelated ones',
});

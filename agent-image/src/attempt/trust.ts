import type { Spectrum } from '@agentfleet/protocol/inference';
import type { SearchNode } from './node.ts';

/** Trust in edits of which nothing is known. */
const unknownTrust = 0.5;
/** Trust in edits that no failing test executes any more, and in those that all of them still do: neither proves anything. */
const bounds = { most: 0.8, least: 0.2 } as const;

/**
 * How likely the edits that made a tree are part of the repair, 0…1. An edit may make a test pass by accident, as a constant
 * does that fits one example. Then failing tests still execute the line. So the share of the failing tests that executed it
 * before and do not fail now decides; squared, since for one right edit there are many that please a part of the tests.
 */
export function trustIn({ parent, edits, focus }: Pick<SearchNode, 'parent' | 'edits' | 'focus'>): number {
  const [before, after] = [parent?.focus, focus];
  if (!before || !after || after.localisation.spectrum.failed === 0) return unknownTrust;
  const files = new Map(before.files.map(({ path, content }) => [path, content]));
  const explained = edits.flatMap(({ path, range }) => {
    const content = files.get(path);
    if (content === undefined) return [];
    const line = Buffer.from(content).subarray(0, range.startByte).toString().split('\n').length;
    const failed = failures(before.localisation.spectrum, path, line);
    return failed === 0 ? [] : [1 - Math.min(1, failures(after.localisation.spectrum, path, line) / failed)];
  });
  return explained.length === 0 ? unknownTrust : bounds.least + (bounds.most - bounds.least) * Math.min(...explained) ** 2;
}

/** Failing tests that execute a line. */
function failures({ lines }: Spectrum, path: string, line: number): number {
  return lines.find((one) => one.line === line && one.path === path)?.failed ?? 0;
}

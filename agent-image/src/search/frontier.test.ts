import { describe, expect, it } from 'vitest';
import { Frontier } from './rounds.ts';
import { stateAfter, type SearchNode, type Start } from './node.ts';
import type { Noted, TriedNote } from '../attempt/notes.ts';

const start = {
  snapshot: { id: 's0', manifestDigest: 'sha256:root' },
  passing: new Set(),
  proofs: undefined,
  holds: false,
} as unknown as Start;
const nothing = { tried: [], accepted: [] } as unknown as Noted;

function grown(frontier: Frontier, parent: SearchNode, id: string, trust = 0.5): SearchNode {
  const state = stateAfter(parent.state, id);
  const node = frontier.grow({ state, parent, planId: id, edits: [], snapshot: id, passing: new Set([id]) });
  node.trust = trust;
  return node;
}

describe('where the search continues', () => {
  it('is the tree that was just made better, whatever is left elsewhere', () => {
    const frontier = new Frontier(start, nothing);
    frontier.root.nextShare = 0.9;
    const child = grown(frontier, frontier.root, 'a');
    expect(frontier.best(frontier.root)).toBe(child);
  });

  it('is another tree once its next proposal promises clearly more, and back again', () => {
    const frontier = new Frontier(start, nothing);
    const child = grown(frontier, frontier.root, 'a');
    frontier.root.nextShare = 0.02;
    child.nextShare = 0.02;
    expect(frontier.best(child)).toBe(child);
    child.nextShare = 0.011; // not clearly
    expect(frontier.best(child)).toBe(child);
    child.nextShare = 0.009;
    expect(frontier.best(child)).toBe(frontier.root);
    frontier.root.nextShare = 0.004;
    expect(frontier.best(frontier.root)).toBe(child);
  });

  it('is sooner another tree the less the edits are trusted, for all trees that were made out of them', () => {
    const frontier = new Frontier(start, nothing);
    const doubted = grown(frontier, frontier.root, 'a', 0.2);
    const below = grown(frontier, doubted, 'b', 0.8);
    frontier.root.nextShare = 0.01;
    for (const node of [doubted, below]) node.nextShare = 0.02;
    expect(below.promise).toBeCloseTo(0.16, 10);
    expect(doubted.promise).toBeCloseTo(0.04, 10);
    expect(frontier.root.promise).toBeCloseTo(0.8, 10);
    expect(frontier.best(below)).toBe(frontier.root);
    doubted.trust = 0.8;
    expect(frontier.best(below)).toBe(below);
  });

  it('is the newest tree alone without backtracking, and nowhere once that one is exhausted', () => {
    const frontier = new Frontier(start, nothing, { backtracking: false });
    expect(frontier.best(null)).toBe(frontier.root);
    const child = grown(frontier, frontier.root, 'a');
    frontier.root.nextShare = 0.9;
    child.nextShare = 0.001;
    expect(frontier.best(child)).toBe(child);
    child.exhausted = true;
    expect(frontier.best(child)).toBeNull();
  });

  it('ends with the last tree', () => {
    const frontier = new Frontier(start, nothing);
    const child = grown(frontier, frontier.root, 'a');
    child.exhausted = true;
    expect(frontier.best(child)).toBe(frontier.root);
    frontier.root.exhausted = true;
    expect(frontier.best(child)).toBeNull();
  });

  it('is known to a worker that takes over, by the shares of tried candidates', () => {
    const tried = [0.3, 0.1].map((proposalShare, at) => ({
      state: 'sha256:root',
      id: `c${at}`,
      step: 0,
      result: 'Equal',
      facts: { expert: 'gen', proposalShare },
    })) as unknown as TriedNote[];
    expect(new Frontier(start, { ...nothing, tried }).root.nextShare).toBe(0.1);
  });
});

it('names the trees beside the path to a node', () => {
  const frontier = new Frontier(start, nothing);
  const trap = grown(frontier, frontier.root, 'a');
  const below = grown(frontier, trap, 'b');
  const right = grown(frontier, frontier.root, 'c');
  expect(frontier.aside(right)).toEqual([trap, below]);
  trap.exhausted = true;
  expect(frontier.aside(frontier.root)).toEqual([below, right]);
});

it('takes the shares of an answer: the likeliest that is left, else the last', () => {
  const { root } = new Frontier(start, nothing);
  const candidates = [0.4, 0.2, 0.1].map((score, at) => ({ id: `c${at}`, score }));
  root.tried.add('c0');
  root.offer(candidates);
  expect(root.nextShare).toBe(0.2);
  root.tried.add('c1').add('c2');
  root.offer(candidates);
  expect(root.nextShare).toBe(0.1);
  root.offer([]);
  expect(root.nextShare).toBe(0.1);
});

import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));
const architecture = readFileSync(`${root}docs/architecture.md`, 'utf8');
const glossary = readFileSync(`${root}docs/glossary.md`, 'utf8');
const terms = [...glossary.matchAll(/^\| (?!Word|-)([^|]+?) +\|/gm)].map(([, term = '']) => term);

describe('docs/architecture.md', () => {
  const paths = [...architecture.matchAll(/`((?:[\w-]+\/)+[\w.-]*)`/g)].map(([, path = '']) => path);

  it.each([...new Set(paths)])('names %s, which is there', (path) => {
    expect(existsSync(root + path)).toBe(true);
  });

  it('is read in ten minutes', () => {
    expect(paths.length).toBeGreaterThan(30);
    expect(architecture.split('\n').length).toBeLessThanOrEqual(150);
  });
});

describe('docs/glossary.md', () => {
  it('has at most 60 terms, each once, in order', () => {
    expect(terms.length).toBeGreaterThan(40);
    expect(terms.length).toBeLessThanOrEqual(60);
    expect(terms).toEqual([...new Set(terms)].sort((a, b) => a.localeCompare(b, 'en')));
  });
});

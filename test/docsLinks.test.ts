import { readFileSync, existsSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import { ajvOptions, group, kinds, validators, type AgentTask } from '@agentfleet/protocol/api';
import { execFileSync } from 'node:child_process';
import { loadAll } from 'js-yaml';
import { describe, expect, it } from 'vitest';

/** Every page of the repository: its links resolve, and its YAML is valid for the API. */
const root = fileURLToPath(new URL('..', import.meta.url));
const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '*.md'], {
  cwd: root,
  encoding: 'utf8',
});
const pages = listed
  .split('\0')
  .filter((path) => path !== '' && existsSync(root + path) && !path.startsWith('test/packs/') && !path.startsWith('test/full/'));
const textOf = (page: string): string => readFileSync(root + page, 'utf8');

/** Strips code, where brackets are no links. */
const prose = (text: string): string => text.replaceAll(/^(```+|~~~+)[^\n]*\n[\s\S]*?^\1/gm, '').replaceAll(/`[^`\n]*`/g, '');

/** Returns anchors of headings, like GitHub's. */
function anchorsOf(page: string): ReadonlySet<string> {
  const seen = new Map<string, number>();
  const headings = [
    ...textOf(page)
      .replaceAll(/^(```+)[^\n]*\n[\s\S]*?^\1/gm, '')
      .matchAll(/^#{1,6} +(.+?) *$/gm),
  ].map(([, words = '']) => words);
  return new Set(
    headings.map((words) => {
      const text = words.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
      const anchor = text.replaceAll(/[^\p{L}\p{N}\p{M} _-]/gu, '').replaceAll(' ', '-');
      const before = seen.get(anchor) ?? 0;
      seen.set(anchor, before + 1);
      return before === 0 ? anchor : `${anchor}-${before}`;
    }),
  );
}

function brokenLinks(page: string): readonly string[] {
  const links = [...prose(textOf(page)).matchAll(/\]\(([^()\s]+)\)/g)].map(([, link = '']) => link);
  return links.filter((link) => {
    if (/^[a-z]+:/.test(link)) return false;
    const [path = '', anchor] = link.split('#');
    const target = path === '' ? page : normalize(join(dirname(page), path));
    if (!existsSync(root + target)) return true;
    if (anchor === undefined || statSync(root + target).isDirectory() || !target.endsWith('.md')) return false;
    return !anchorsOf(target).has(anchor);
  });
}

describe('links', () => {
  it.each(pages)('of %s lead somewhere', (page) => expect(brokenLinks(page)).toEqual([]));

  it('are read in all pages', () => expect(pages.length).toBeGreaterThan(40));
});

interface Block {
  readonly page: string;
  readonly text: string;
}

const blocks: readonly Block[] = pages.flatMap((page) =>
  [...textOf(page).matchAll(/^```ya?ml\n([\s\S]*?)^```/gm)].map(([, text = '']) => ({ page, text })),
);
const valid = validators(new Ajv(ajvOptions));

describe('YAML in pages', () => {
  it.each(blocks.map(({ page, text }): [string, string] => [`${page}: ${text.split('\n')[0] ?? ''}`, text]))(
    '%s is YAML, and ours fits its kind',
    (_, text) => {
      const documents = loadAll(text) as readonly ({ readonly apiVersion?: string; readonly kind?: string } | null)[];
      for (const document of documents) {
        const kind = document?.kind as AgentTask['kind'];
        if (document?.apiVersion?.startsWith(`${group}/`) !== true || !kinds.some((one) => one.kind === kind)) continue;
        expect([valid[kind](structuredClone(document)), valid[kind].errors ?? null]).toEqual([true, null]);
      }
    },
  );

  it('is read', () => expect(blocks.length).toBeGreaterThan(3));
});

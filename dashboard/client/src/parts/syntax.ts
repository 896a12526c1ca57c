/** Colours of source code; a chunk of its own, loaded with the first diff. */
import { refractor } from 'refractor/core';
import bash from 'refractor/bash';
import c from 'refractor/c';
import cpp from 'refractor/cpp';
import css from 'refractor/css';
import go from 'refractor/go';
import java from 'refractor/java';
import javascript from 'refractor/javascript';
import json from 'refractor/json';
import jsx from 'refractor/jsx';
import markdown from 'refractor/markdown';
import markup from 'refractor/markup';
import python from 'refractor/python';
import ruby from 'refractor/ruby';
import rust from 'refractor/rust';
import sql from 'refractor/sql';
import toml from 'refractor/toml';
import tsx from 'refractor/tsx';
import typescript from 'refractor/typescript';
import yaml from 'refractor/yaml';

for (const language of [
  bash,
  c,
  cpp,
  css,
  go,
  java,
  javascript,
  json,
  jsx,
  markdown,
  markup,
  python,
  ruby,
  rust,
  sql,
  toml,
  tsx,
  typescript,
  yaml,
])
  refractor.register(language);

export interface Piece {
  readonly text: string;
  /** Class of the kind of word. */
  readonly kind?: string;
}

type Node = ReturnType<typeof refractor.highlight>['children'][number];

function pieces(node: Node, kind: string | undefined): readonly Piece[] {
  if (node.type === 'text') return [{ text: node.value, ...(kind === undefined ? {} : { kind }) }];
  if (node.type !== 'element') return [];
  const classes = node.properties['className'];
  const own = Array.isArray(classes) ? classes.find((one) => one !== 'token') : undefined;
  return node.children.flatMap((child) => pieces(child as Node, typeof own === 'string' ? `tok-${own}` : kind));
}

/** A line of source in coloured pieces. A language that is not known, or a long line, stays plain. */
export function colour(line: string, language: string): readonly Piece[] {
  if (line.length > 1000 || !refractor.registered(language)) return [{ text: line }];
  return refractor.highlight(line, language).children.flatMap((node) => pieces(node, undefined));
}

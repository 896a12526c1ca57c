// Reads expressions with Prometheus' own grammar and reports their faults: syntax, unknown series and labels, functions
// that do not fit their arguments.
import type { SyntaxNode } from '@lezer/common';
import { parser } from '@prometheus-io/lezer-promql';
import type { KnownSeries } from './catalogue.ts';

type Catalogue = ReadonlyMap<string, KnownSeries>;

/** Type of an expression's result. */
export interface Shape {
  readonly type: 'scalar' | 'string' | 'vector' | 'matrix';
  readonly labels: ReadonlySet<string>;
  /** For a plain selector: whether all selected series are counters. */
  readonly grows?: boolean;
}

/** A matcher of a selector. */
export interface Matcher {
  readonly metrics: readonly string[];
  readonly label: string;
  readonly value: string;
  readonly isRegex: boolean;
}

/** Analysis of an expression. */
export interface Analysis {
  readonly shape: Shape;
  readonly faults: readonly string[];
  readonly metrics: ReadonlySet<string>;
  readonly matchers: readonly Matcher[];
}

const scalar: Shape = { type: 'scalar', labels: new Set() };
const setOperators = new Set(['And', 'Or', 'Unless']);
/** Functions of a range of a counter. */
const ofCounters = new Set(['rate', 'irate', 'increase']);
/** Other functions of a range. */
const ofRanges = new Set(['changes', 'delta', 'deriv', 'resets']);

function childrenOf(node: SyntaxNode): readonly SyntaxNode[] {
  const found: SyntaxNode[] = [];
  for (let child = node.firstChild; child !== null; child = child.nextSibling) found.push(child);
  return found;
}

const union = (...sets: readonly ReadonlySet<string>[]): ReadonlySet<string> => new Set(sets.flatMap((set) => [...set]));
const common = (a: ReadonlySet<string>, b: ReadonlySet<string>): ReadonlySet<string> => new Set([...a].filter((label) => b.has(label)));

class Reader {
  readonly faults: string[] = [];
  readonly metrics = new Set<string>();
  readonly matchers: Matcher[] = [];
  readonly #text: string;
  readonly #catalogue: Catalogue;

  constructor(text: string, catalogue: Catalogue) {
    this.#text = text;
    this.#catalogue = catalogue;
  }

  #of(node: SyntaxNode): string {
    return this.#text.slice(node.from, node.to);
  }

  #string(node: SyntaxNode): string {
    return this.#of(node).slice(1, -1);
  }

  #labelsIn(node: SyntaxNode | null): readonly string[] {
    return node === null ? [] : childrenOf(node).map((label) => this.#of(label));
  }

  #demand(wanted: readonly string[], has: ReadonlySet<string>, where: SyntaxNode): void {
    for (const label of wanted) if (!has.has(label)) this.faults.push(`no series of ${this.#of(where)} has the label ${label}`);
  }

  shape(node: SyntaxNode): Shape {
    const [first] = childrenOf(node);
    switch (node.name) {
      case 'NumberDurationLiteral':
        return scalar;
      case 'StringLiteral':
        return { type: 'string', labels: new Set() };
      case 'PromQL':
      case 'ParenExpr':
      case 'UnaryExpr':
      case 'OffsetExpr':
        return this.shape(childrenOf(node).find(({ name }) => name !== 'UnaryOp') ?? node);
      case 'VectorSelector':
        return this.#selector(node);
      case 'MatrixSelector':
      case 'SubqueryExpr':
        return { ...this.shape(first ?? node), type: 'matrix', ...(node.name === 'SubqueryExpr' ? { grows: false } : {}) };
      case 'AggregateExpr':
        return this.#aggregate(node);
      case 'FunctionCall':
        return this.#call(node);
      case 'BinaryExpr':
        return this.#binary(node);
      default:
        this.faults.push(`${node.name} is not understood here: ${this.#of(node)}`);
        return scalar;
    }
  }

  #named(node: SyntaxNode): { readonly names: readonly string[]; readonly matchers: readonly SyntaxNode[] } {
    const name = node.getChild('Identifier');
    const matchers = childrenOf(node.getChild('LabelMatchers') ?? node).filter((child) => child.name === 'UnquotedLabelMatcher');
    const isName = (matcher: SyntaxNode): boolean => this.#of(matcher.getChild('LabelName') ?? matcher) === '__name__';
    const text = matchers.filter(isName).flatMap((matcher) => this.#string(matcher.getChild('StringLiteral') ?? matcher).split('|'));
    return { names: name === null ? text : [this.#of(name)], matchers: matchers.filter((matcher) => !isName(matcher)) };
  }

  #selector(node: SyntaxNode): Shape {
    const { names, matchers } = this.#named(node);
    const known = names.flatMap((name) => {
      this.metrics.add(name);
      const series = this.#catalogue.get(name);
      if (series === undefined) this.faults.push(`nobody exports ${name}`);
      return series === undefined ? [] : [series];
    });
    const labels = union(...known.map((series) => series.labels));
    for (const matcher of matchers) {
      const label = this.#of(matcher.getChild('LabelName') ?? matcher);
      this.#demand([label], labels, node);
      const isRegex = this.#of(matcher.getChild('MatchOp') ?? matcher).endsWith('~');
      this.matchers.push({ metrics: names, label, value: this.#string(matcher.getChild('StringLiteral') ?? matcher), isRegex });
    }
    return { type: 'vector', labels, grows: known.every(({ type }) => type === 'counter' || type === 'histogram') };
  }

  #aggregate(node: SyntaxNode): Shape {
    const args = childrenOf(node.getChild('FunctionCallBody') ?? node).map((argument) => this.shape(argument));
    const inner = args.at(-1) ?? scalar;
    if (inner.type !== 'vector') this.faults.push(`${this.#of(node)} is of a ${inner.type}`);
    const modifier = node.getChild('AggregateModifier');
    const wanted = this.#labelsIn(modifier?.getChild('GroupingLabels') ?? null);
    this.#demand(wanted, inner.labels, node);
    // topk keeps all labels of its selection.
    if (['topk', 'bottomk'].includes(this.#of(node.getChild('AggregateOp') ?? node))) return { type: 'vector', labels: inner.labels };
    if (modifier?.getChild('Without'))
      return { type: 'vector', labels: new Set([...inner.labels].filter((label) => !wanted.includes(label))) };
    return { type: 'vector', labels: new Set(wanted) };
  }

  #call(node: SyntaxNode): Shape {
    const name = this.#of(node.getChild('FunctionIdentifier') ?? node);
    const args = childrenOf(node.getChild('FunctionCallBody') ?? node).map((argument) => this.shape(argument));
    const inner = args.at(-1) ?? scalar;
    const isRange = ofCounters.has(name) || ofRanges.has(name) || name.endsWith('_over_time');
    if ((inner.type === 'matrix') !== isRange) this.faults.push(`${this.#of(node)}: ${name} takes no ${inner.type}`);
    if (ofCounters.has(name) && inner.grows !== true) this.faults.push(`${this.#of(node)}: ${name} is of counters`);
    if (name === 'histogram_quantile') {
      this.#demand(['le'], inner.labels, node);
      return { type: 'vector', labels: new Set([...inner.labels].filter((label) => label !== 'le')) };
    }
    return { type: 'vector', labels: name === 'absent' ? new Set() : inner.labels };
  }

  #binary(node: SyntaxNode): Shape {
    const parts = childrenOf(node);
    const [left, right] = [this.shape(parts[0] ?? node), this.shape(parts.at(-1) ?? node)];
    const operator = parts[1]?.name ?? '';
    const matching = node.getChild('MatchingModifierClause');
    const [on, more] = (matching?.getChildren('GroupingLabels') ?? []).map((labels) => this.#labelsIn(labels));
    if (matching?.getChild('On')) {
      this.#demand(on ?? [], left.labels, parts[0] ?? node);
      this.#demand(on ?? [], right.labels, parts.at(-1) ?? node);
    }
    this.#demand(more ?? [], right.labels, parts.at(-1) ?? node);
    if (left.type === 'scalar' || right.type === 'scalar') return left.type === 'scalar' ? right : { type: left.type, labels: left.labels };
    return { type: 'vector', labels: this.#joined(node, operator, left, right, { on, more }) };
  }

  #joined(
    node: SyntaxNode,
    operator: string,
    left: Shape,
    right: Shape,
    { on, more }: { readonly on: readonly string[] | undefined; readonly more: readonly string[] | undefined },
  ): ReadonlySet<string> {
    if (operator === 'Or') return union(left.labels, right.labels);
    if (more !== undefined) return union(left.labels, new Set(more));
    if (on === undefined) {
      const apart = [...union(left.labels, right.labels)].filter((label) => !common(left.labels, right.labels).has(label));
      if (apart.length > 0) this.faults.push(`the sides of ${this.#of(node)} never meet: ${apart.join(', ')} is on one side only`);
    }
    return setOperators.has(operator) || on === undefined ? left.labels : new Set(on);
  }
}

/** Reads an expression. Faults are empty when there is nothing wrong with it. */
export function analyse(text: string, catalogue: Catalogue): Analysis {
  const tree = parser.parse(text);
  const faults: string[] = [];
  tree.iterate({
    enter: ({ type, from, to }) => {
      if (type.isError) faults.push(`not PromQL at ${from}: ${text.slice(Math.max(0, from - 20), to + 20)}`);
    },
  });
  const reader = new Reader(text, catalogue);
  const shape = faults.length > 0 ? scalar : reader.shape(tree.topNode);
  return { shape, faults: [...faults, ...reader.faults], metrics: reader.metrics, matchers: reader.matchers };
}

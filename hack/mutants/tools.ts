import type { Mutant } from './mutants.ts';

const keeper = 'sandbox-image/keeper/src';
const redact = 'protocol/src/redact';
const vitest = (path: string): Mutant['test'] => ({ kind: 'vitest', path });

/** Bugs in the syntax check, in structural edits, in redaction and in MCP. */
export const tools: readonly Mutant[] = [
  {
    guarantee: 'an edit that adds syntax errors is refused',
    file: `${keeper}/files/syntax/check.ts`,
    find: 'if (now.count > then.count) throw',
    replace: 'if (now.count > then.count + 1) throw',
    test: vitest(`${keeper}/files/syntax`),
  },
  {
    guarantee: 'a text replacement is looked at before it is written',
    file: `${keeper}/files/replace.ts`,
    find: 'await options.checkSyntax({ path: edit.path, before: content, after: result })',
    replace: 'await options.checkSyntax({ path: edit.path, before: result, after: result })',
    test: vitest(`${keeper}/http/redacted.test.ts`),
  },
  {
    guarantee: 'the parser cannot hold the keeper',
    file: `${keeper}/files/syntax/parser.ts`,
    find: '    const stop = this.#options.clock.after(this.#options.millis, onGone);\n',
    replace: '    const stop = (): void => undefined;\n',
    test: vitest(`${keeper}/files/syntax`),
  },
  {
    guarantee: 'the memory of the parser is bounded, and a failed one is not asked again',
    file: `${keeper}/files/syntax/parser.ts`,
    find: '    await this.close();\n    return null;\n',
    replace: '    return null;\n',
    test: vitest(`${keeper}/files/syntax`),
  },
  {
    guarantee: 'the same name of a pattern stands for the same text',
    file: `${keeper}/files/ast/match.ts`,
    find: '=== this.#text.slice(range.start, range.end) ? bound : null',
    replace: '=== this.#text.slice(known.start, known.end) ? bound : null',
    test: vitest(`${keeper}/files/ast`),
  },
  {
    guarantee: 'a structural edit ends, whatever its pattern',
    file: `${keeper}/files/ast/match.ts`,
    find: 'if (this.#steps > maxSteps) throw',
    replace: 'if (this.#steps < 0) throw',
    test: vitest(`${keeper}/files/ast`),
  },
  {
    guarantee: 'a structural edit is held to the expected content',
    file: `${keeper}/files/astEdit.ts`,
    find: 'edit.expectedSha256 !== previousSha256',
    replace: 'edit.expectedSha256 === edit.path',
    test: vitest(`${keeper}/http/redacted.test.ts`),
  },
  {
    guarantee: 'a secret that is split over two chunks is taken out',
    file: `${redact}/redactor.ts`,
    find: 'return Math.min(long, this.#declaredFrom(whole), openKey(whole));',
    replace: 'return whole.length + 0 * long;',
    test: vitest(redact),
  },
  {
    guarantee: 'a declared value is held back until it is whole',
    file: `${redact}/redactor.ts`,
    find: 'Math.min(long, this.#declaredFrom(whole), openKey(whole))',
    replace: 'Math.min(long, openKey(whole))',
    test: vitest(redact),
  },
  {
    guarantee: 'output is redacted before it is kept',
    file: `${keeper}/exec/command.ts`,
    find: 'redacting === null ? output : new RedactedOutput(',
    replace: 'redacting !== undefined ? output : new RedactedOutput(',
    test: vitest(`${keeper}/http/redacted.test.ts`),
  },
  {
    guarantee: 'the log has no secrets of command lines',
    file: `${keeper}/exec/executor.ts`,
    find: 'redaction.open().value(intent)',
    replace: 'redaction.open() && intent',
    test: vitest(`${keeper}/http/redacted.test.ts`),
  },
  {
    guarantee: 'exact bytes are noted',
    file: `${keeper}/http/redacted.ts`,
    find: "  log.append('RawRead', { what, name: redaction.open().text(name) });\n",
    replace: '',
    test: vitest(`${keeper}/http/redacted.test.ts`),
  },
  {
    guarantee: 'MCP wants a token before anything',
    file: `${keeper}/http/routes-mcp.ts`,
    find: '    await keeper.authenticate(request.headers.authorization);\n',
    replace: '',
    test: vitest(`${keeper}/mcp`),
  },
  {
    guarantee: 'MCP is no way around the epoch',
    file: `${keeper}/mcp/facade.ts`,
    find: '      keeper.parts.fence.check(epoch);\n',
    replace: '',
    test: vitest(`${keeper}/mcp`),
  },
  {
    guarantee: 'foreign pages and names do not reach MCP',
    file: `${keeper}/http/routes-mcp.ts`,
    find: '    assertOrigin(request, keeper.parts.config.pod.name);\n',
    replace: '',
    test: vitest(`${keeper}/mcp`),
  },
  {
    guarantee: 'refusals over MCP quote no secrets',
    file: `${keeper}/mcp/facade.ts`,
    find: 'keeper.parts.redaction.open().value(failure.body)',
    replace: 'failure.body',
    test: vitest(`${keeper}/mcp`),
  },
];

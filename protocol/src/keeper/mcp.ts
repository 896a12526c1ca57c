// protocol, keeper: tools, path and bounds of the keeper's MCP server. May import environment alone.
import { Type, type TSchema } from 'typebox';
import { defaultTimeoutSeconds, ExecCodeRequest, ShellRequest } from './exec.ts';
import { lookBounds, PatchRequest, ReplaceRequest, SearchQuery } from './files.ts';
import { SnapshotRequest } from './snapshots.ts';
import { AstEditRequest, SyntaxMode } from './syntax.ts';
import { closed } from '../object.ts';
import { ulid } from './schema.ts';

/** Path at which the keeper serves the Model Context Protocol: stateless Streamable HTTP, revision 2026-07-28 and 2025-11-25. */
export const mcpPath = '/mcp';

/** Bounds of one answer: seconds that a call waits for a command, and characters of each output stream in it. */
export const mcpBounds = { waitSeconds: 300, defaultWaitSeconds: 50, outputChars: 10_000, contentChars: 1024 * 1024 } as const;

const path = (description: string): TSchema => Type.String({ minLength: 2, maxLength: 4096, pattern: '^/', description });
const newId = ulid('a ULID; repeating it never acts twice; default: a new one');
const waitSeconds = Type.Optional(
  Type.Integer({
    minimum: 0,
    maximum: mcpBounds.waitSeconds,
    description: `answer after so long even if the command runs on, default ${mcpBounds.defaultWaitSeconds}; then use wait`,
  }),
);

const { stdin, cwd, env, timeoutSeconds } = ShellRequest.properties;
const command = { cwd, env, stdin, timeoutSeconds, waitSeconds, execId: Type.Optional(newId) };
const { diff, strip, expected, dryRun, syntax } = PatchRequest.properties;
const { text, regex } = SearchQuery.properties;
const line = (description: string): TSchema => Type.Optional(Type.Integer({ minimum: 1, maximum: 999_999_999, description }));
const snapshotId = Type.String({ pattern: '^s[0-9]{4,}$' });

/** Effects of tools on the sandbox, in MCP's annotations. Nothing here reaches beyond the sandbox. */
const reading = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };
const adding = { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false };
const changing = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false };

/** The tools by name, in the order in which they are listed: the same requests as the keeper's own routes, with the names that a model sends. */
export const mcpTools = {
  exec_code: {
    title: 'Run a program',
    description: `Runs a program with its arguments, without a shell; default limit ${defaultTimeoutSeconds.ExecCode} s. One command at a time.`,
    inputSchema: closed({ argv: ExecCodeRequest.properties.argv, ...command }),
    annotations: changing,
  },
  shell: {
    title: 'Run a command line',
    description: `Runs one command line with /bin/sh -c; default limit ${defaultTimeoutSeconds.Shell} s. One command at a time.`,
    inputSchema: closed({ command: ShellRequest.properties.command, ...command }),
    annotations: changing,
  },
  wait: {
    title: 'Wait for a command',
    description: 'Waits for a command that runs on, and gives what it wrote since the event `from`.',
    inputSchema: closed({ execId: newId, from: line('`next` of the answer before; default 1'), waitSeconds }),
    annotations: reading,
  },
  read: {
    title: 'Read lines of a file',
    description: `Lines of a text file, at most ${lookBounds.textBytes} bytes, with the SHA-256 of the file for an edit's expectedSha256.`,
    inputSchema: closed({ path: path('absolute'), from: line('first line, default 1'), to: line('last line, default the end') }),
    annotations: reading,
  },
  list: {
    title: 'List a folder',
    description: 'Lists a folder; links are reported, not followed.',
    inputSchema: closed({
      path: path('absolute'),
      depth: Type.Optional(Type.Integer({ minimum: 1, maximum: 256, description: 'levels below the folder, default 1' })),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: lookBounds.entries, description: 'default 1000' })),
    }),
    annotations: reading,
  },
  search: {
    title: 'Search in files',
    description:
      'Lines that hold a text or match a regular expression, in the text files below a folder, or in one file. Give one of text and regex.',
    inputSchema: closed({
      path: path('absolute, a folder or a file'),
      text,
      regex,
      ignoreCase: Type.Optional(Type.Boolean()),
      include: SearchQuery.properties.include,
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: lookBounds.matches, description: 'default 200' })),
    }),
    annotations: reading,
  },
  write: {
    title: 'Write a file',
    description: 'Writes a whole text file atomically; its folders are made. Refused when it has syntax errors that the file had not.',
    inputSchema: closed({
      path: path('absolute'),
      content: Type.String({ maxLength: mcpBounds.contentChars }),
      mode: Type.Optional(Type.String({ pattern: '^0?[0-7]{3}$', description: 'octal; default 644, or the mode the file has' })),
      syntax: Type.Optional(SyntaxMode),
    }),
    annotations: { ...changing, idempotentHint: true },
  },
  str_replace: {
    title: 'Replace a text in a file',
    description: 'Replaces a text that stands exactly once in a file.',
    inputSchema: ReplaceRequest,
    annotations: changing,
  },
  apply_patch: {
    title: 'Apply a diff',
    description: 'Applies a unified diff over any number of files, whole or not at all.',
    inputSchema: closed({
      path: path('absolute; the folder that the names in the diff are relative to'),
      diff,
      strip,
      expected,
      dryRun,
      syntax,
      requestId: Type.Optional(newId),
    }),
    annotations: changing,
  },
  ast_edit: {
    title: 'Search and replace in the syntax tree',
    description: 'Replaces code by structure: in pattern and rewrite $NAME is one node, $$$NAME any number of neighbours, $_ anything.',
    inputSchema: AstEditRequest,
    annotations: changing,
  },
  snapshot: {
    title: 'Take a snapshot',
    description: 'Keeps the state of workspace and home; restore and diff take its id.',
    inputSchema: SnapshotRequest,
    annotations: adding,
  },
  restore: {
    title: 'Restore a snapshot',
    description: 'Brings workspace and home back to a snapshot, byte for byte, and verifies it.',
    inputSchema: closed({ id: snapshotId }),
    annotations: { ...changing, idempotentHint: true },
  },
  diff: {
    title: 'Compare snapshots',
    description: 'Lists the differences between a snapshot and a later one, or the tree as it is now.',
    inputSchema: closed({
      from: snapshotId,
      to: Type.Optional(Type.String({ pattern: '^(s[0-9]{4,}|current)$', description: 'default current' })),
    }),
    annotations: reading,
  },
} as const;

export type McpToolName = keyof typeof mcpTools;

/**
 * Structural search and replace on syntax trees. Pure but for the parser that it is given; runs in the parser's thread.
 * Part of `files`: may import `auth`, `egress`, `link`, `log`, `network`, `base`, `client`, `snapshot` and protocol.
 */
export type { ParseText } from './rewrite.ts';
export { rewriteTree, type Rewritten } from './rewrite.ts';

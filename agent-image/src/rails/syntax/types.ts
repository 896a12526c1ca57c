import { stripTypeScriptTypes } from 'node:module';

/**
 * TypeScript with each type replaced by as many blanks, or in how many places it cannot be read; null: the parser does not
 * tell. The parser of Node itself does it. Nothing is run.
 */
export function withoutTypes(text: string): string | { readonly broken: 1 } | null {
  for (const mode of ['strip', 'transform'] as const) {
    try {
      return stripTypeScriptTypes(text, { mode });
    } catch (error) {
      const { code } = error as { readonly code?: string };
      if (code === 'ERR_INVALID_TYPESCRIPT_SYNTAX') return { broken: 1 };
      if (code !== 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX') return null;
    }
  }
  return null;
}

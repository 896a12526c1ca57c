import type { McpLibrary } from './facade.ts';

/** Loads the SDK: from the sources, or from the bundle that lies beside the keeper's in the image. */
export function loadMcpLibrary(): Promise<McpLibrary> {
  const file = import.meta.url.endsWith('.ts') ? './library.ts' : './keeper-mcp.js';
  // Not a literal, which the bundler would take in.
  return import(/* @vite-ignore */ new URL(file, import.meta.url).href) as Promise<McpLibrary>;
}

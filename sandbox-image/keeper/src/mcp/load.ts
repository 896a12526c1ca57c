import type { McpLibrary } from './facade.ts';

/** Loads the SDK from the sources, or in the image from the bundle next to the keeper's. */
export function loadMcpLibrary(): Promise<McpLibrary> {
  const file = import.meta.url.endsWith('.ts') ? './library.ts' : './keeper-mcp.js';
  // Not a literal, because the bundler would include it.
  return import(/* @vite-ignore */ new URL(file, import.meta.url).href) as Promise<McpLibrary>;
}

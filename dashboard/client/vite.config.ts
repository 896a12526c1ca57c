// dashboard/client, top folder: build of the page by Vite. Imports nothing of the project.
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Compressed copies beside scripts and styles, which the service sends to browsers that take them. */
const compressed: Plugin = {
  name: 'compressed',
  enforce: 'post',
  generateBundle: {
    order: 'post',
    handler(_, bundle) {
      for (const file of Object.values(bundle).filter(({ fileName }) => /\.(?:js|css)$/.test(fileName))) {
        const source = gzipSync(file.type === 'chunk' ? file.code : file.source, { level: 9 });
        this.emitFile({ type: 'asset', fileName: `${file.fileName}.gz`, source });
      }
    },
  },
};

/** The page: `npm run build -w @agentfleet/dashboard`. Its API is the service beside it. */
export default defineConfig({
  root: at('.'),
  publicDir: false,
  plugins: [compressed],
  // Whatever the process that builds it is: tests build and measure what the image holds.
  define: { 'process.env.NODE_ENV': JSON.stringify('production') },
  oxc: { jsx: { development: false } },
  build: {
    outDir: at('../dist'),
    emptyOutDir: true,
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
});

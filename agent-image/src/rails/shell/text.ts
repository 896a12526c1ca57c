import { hole, markGlobs } from './marks.ts';
import { escapes } from './words.ts';
import type { Deed } from './program.ts';

/**
 * Perl, Ruby, PHP, awk and the like, of which there is no tree: what stands in quotes behind a
 * function that runs, deletes or connects is taken out by pattern. Coarser than a parse, so what
 * evaluates text that is not a constant is called unknown.
 */
const quoted = String.raw`(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|q[qx]?\{([^}]*)\}|q[qx]?\(([^)]*)\)|q[qx]?\/([^/]*)\/|%x\{([^}]*)\}|\[\[([^\]]*)\]\])`;

const calls: readonly (readonly [RegExp, (texts: readonly string[]) => Deed])[] = [
  [
    new RegExp(
      String.raw`\b(?:system|exec|popen|shell_exec|passthru|proc_open|os\.execute|io\.popen|Open3\.\w+|IO\.popen|Kernel\.\w+|spawn)\s*\(?\s*(${quoted}(?:\s*,\s*${quoted})*)`,
      'g',
    ),
    (texts) => ({ kind: 'shell', text: texts.join(' ') }),
  ],
  [
    new RegExp(
      String.raw`(?:\x60([^\x60]*)\x60|\bqx\s*\{([^}]*)\}|\bqx\s*\(([^)]*)\)|\bqx\s*\/([^/]*)\/|%x\{([^}]*)\}|%x\(([^)]*)\))`,
      'g',
    ),
    (texts) => ({ kind: 'shell', text: texts.join('') }),
  ],
  [
    new RegExp(String.raw`(?:^|[\s;{(])(${quoted})\s*\|\s*(?:getline|&)|\bprint\b[^|;]*\|\s*(${quoted})`, 'g'),
    (texts) => ({ kind: 'shell', text: texts[0] ?? hole }),
  ],
  [
    new RegExp(String.raw`\b(?:rmtree|remove_tree|rm_rf|rm_r|remove_entry\w*|remove_dir)\s*\(?\s*${quoted}`, 'g'),
    (texts) => ({ kind: 'argv', argv: ['rm', '-rf', texts[0] ?? hole] }),
  ],
  [
    new RegExp(
      String.raw`\b(?:unlink|rmdir|File\.delete|os\.remove|delete)\s*\(?\s*(?:glob\s*\(?\s*|Dir\.glob\s*\(\s*|Dir\[\s*)?${quoted}`,
      'g',
    ),
    (texts) => ({ kind: 'argv', argv: ['rm', markGlobs(texts[0] ?? hole)] }),
  ],
  [
    new RegExp(
      String.raw`\b(?:IO::Socket|TCPSocket|fsockopen|Net::HTTP|HTTP::Tiny|LWP::\w+|open-uri|socket\.tcp|curl_exec|stream_socket_client|URI\.open)\b[^;]*?(?:${quoted})?`,
      'g',
    ),
    (texts) => ({ kind: 'argv', argv: ['curl', texts[0] ?? hole] }),
  ],
  [/\/inet\d?\/(?:tcp|udp)\/[^/"]*\/([^/"]+)/g, (texts) => ({ kind: 'argv', argv: ['nc', texts[0] ?? hole] })],
  [
    new RegExp(
      String.raw`\b(?:open|File\.(?:read|open)|IO\.read|file_get_contents|readfile|io\.open)\s*\(?\s*(?:my\s*)?[^"';]*${quoted}`,
      'g',
    ),
    (texts) => ({ kind: 'argv', argv: ['cat', (texts.at(-1) ?? hole).replace(/^\s*[<>+]+\s*/, '')] }),
  ],
  [
    new RegExp(String.raw`\b(?:file_put_contents|File\.write|IO\.write)\s*\(?\s*${quoted}`, 'g'),
    (texts) => ({ kind: 'argv', argv: ['tee', texts[0] ?? hole] }),
  ],
  [/\bkill\s*\(?\s*['"]?(?:9|KILL|SIGKILL|-9)['"]?\s*,\s*(-?\d+)/g, (texts) => ({ kind: 'argv', argv: ['kill', '-9', texts[0] ?? hole] })],
  [/\b(?:fork\b[^;]*while|while\b[^;]*\bfork\b)/g, () => ({ kind: 'argv', argv: ['fork'] })],
];

const dynamicCode =
  /\beval\b\s*\(?\s*[$@a-z]|\b(?:unpack|pack|base64_decode|decode_base64|str_rot13|gzinflate|create_function|instance_eval|class_eval|loadstring)\b/;
const dynamicRun = /\b(?:system|exec|popen|shell_exec|passthru|os\.execute|io\.popen)\s*\(?\s*(?:[$@]|[a-z_]+[^"'\s(]|["'][^"']*["']\s*\.)/;

export function textDeeds(text: string): readonly Deed[] {
  const out: Deed[] = [];
  for (const [pattern, deed] of calls) {
    for (const found of text.matchAll(pattern)) {
      const texts = found.slice(1).filter((one): one is string => one !== undefined && !/^["'q%]./.test(one));
      out.push(deed(texts.map((one) => escapes(one).replace(/\$[{(]?\w+[})]?|#\{[^}]*\}/g, hole))));
      if (out.length > 64) return out;
    }
  }
  if (dynamicCode.test(text)) out.push({ kind: 'unknown', what: 'the program builds code and evaluates it' });
  if (dynamicRun.test(text)) out.push({ kind: 'unknown', what: 'the program runs a command that is not a constant' });
  return out;
}

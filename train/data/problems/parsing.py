def parse_pairs(text, separator=';'):
    out = {}
    for part in text.split(separator):
        part = part.strip()
        if not part:
            continue
        key, found, value = part.partition('=')
        out[key.strip()] = value.strip() if found else True
    return out
#> 'a=1;b=2' ;; '' ;; 'flag; x = y' ;; 'k=v=w' ;; 'a=1,b', ',' ;; ' ; ;z=' ;; 'one=1; one=2'

def parse_csv_line(line):
    fields = []
    field = ''
    quoted = False
    at = 0
    while at < len(line):
        char = line[at]
        if quoted:
            if char == '"' and line[at + 1:at + 2] == '"':
                field += '"'
                at += 1
            elif char == '"':
                quoted = False
            else:
                field += char
        elif char == '"':
            quoted = True
        elif char == ',':
            fields.append(field)
            field = ''
        else:
            field += char
        at += 1
    fields.append(field)
    return fields
#> 'a,b,c' ;; '"a,b",c' ;; '' ;; '"say ""hi""",x' ;; 'a,,b' ;; '"",q' ;; ',' ;; '"x"' ;; 'p,"q r",s'

def balanced(text):
    closing = {')': '(', ']': '[', '}': '{'}
    stack = []
    for char in text:
        if char in closing.values():
            stack.append(char)
        elif char in closing:
            if not stack or stack.pop() != closing[char]:
                return False
    return not stack
#> '()' ;; '([)]' ;; '' ;; '(' ;; ')' ;; '{[()]}' ;; 'a(b]c' ;; 'f(x[1]) + {}'
#~ return not stack ==> return True

def evaluate_rpn(text):
    stack = []
    for token in text.split():
        if token in ('+', '-', '*', '/'):
            right = stack.pop()
            left = stack.pop()
            if token == '+':
                stack.append(left + right)
            elif token == '-':
                stack.append(left - right)
            elif token == '*':
                stack.append(left * right)
            else:
                stack.append(left / right)
        else:
            stack.append(float(token))
    return stack[-1]
#> '1 2 +' ;; '5 1 2 + 4 * + 3 -' ;; '7' ;; '8 2 /' ;; '9 4 -' ;; '2 3 4 * +' ;; '6 2 / 3 /'

def tokenize(text):
    tokens = []
    number = ''
    for char in text:
        if char.isdigit() or char == '.':
            number += char
            continue
        if number:
            tokens.append(number)
            number = ''
        if not char.isspace():
            tokens.append(char)
    if number:
        tokens.append(number)
    return tokens
#> '1+2' ;; '12 * (3.5 - 4)' ;; '' ;; 'a1' ;; '7' ;; '  8  ' ;; '(10)' ;; '3--4'

def calculate(text):
    total = 0
    sign = 1
    number = 0
    for char in text:
        if char.isdigit():
            number = number * 10 + int(char)
        elif char in '+-':
            total += sign * number
            number = 0
            sign = 1 if char == '+' else -1
    return total + sign * number
#> '1 + 2' ;; '10 - 3 - 2' ;; '' ;; '42' ;; '7-10+100' ;; '0-5' ;; '12+30-2'
#~ number = 0
            sign ==> sign

def parse_version(text):
    text = text.lstrip('v')
    core, _, label = text.partition('-')
    numbers = [int(part) for part in core.split('.')]
    while len(numbers) < 3:
        numbers.append(0)
    return tuple(numbers), label or None
#> 'v1.2.3' ;; '1.2' ;; '2' ;; '1.0.0-rc1' ;; 'v10.20.30-beta' ;; '0.1-x-y' ;; '3.0.1'

def parse_query(text):
    out = {}
    text = text.lstrip('?')
    for pair in text.split('&'):
        if not pair:
            continue
        key, _, value = pair.partition('=')
        value = value.replace('+', ' ')
        if key in out:
            out[key].append(value)
        else:
            out[key] = [value]
    return out
#> '?a=1&b=2' ;; '' ;; 'a=1&a=2' ;; 'q=two+words' ;; 'x&y=' ;; '&&k=v' ;; '?z=1=2'

def parse_ini(text):
    sections = {}
    current = sections.setdefault('default', {})
    for line in text.split('\n'):
        line = line.strip()
        if not line or line.startswith(';'):
            continue
        if line.startswith('[') and line.endswith(']'):
            current = sections.setdefault(line[1:-1], {})
        else:
            key, _, value = line.partition('=')
            current[key.strip()] = value.strip()
    return sections
#> 'a=1\n[s]\nb=2' ;; '' ;; '; note\n[x]\n[y]\nk = v' ;; '[s]\na=1\n[t]\na=2\n[s]\nb=3' ;; ' q = r ' ;; '[one]\n;c\n z=9'

def parse_size(text):
    units = {'k': 1024, 'm': 1024 ** 2, 'g': 1024 ** 3}
    text = text.strip().lower()
    if text.endswith('b'):
        text = text[:-1]
    if text and text[-1] in units:
        return int(float(text[:-1]) * units[text[-1]])
    return int(text)
#> '10' ;; '2k' ;; '1.5KB' ;; ' 3 mb' ;; '1g' ;; '512b' ;; '0.5m' ;; '7K'

def parse_range(text, limit):
    out = []
    for part in text.split(','):
        if '-' in part:
            first, _, last = part.partition('-')
            start = int(first) if first else 0
            end = int(last) if last else limit
            out.extend(range(start, min(end, limit) + 1))
        elif part:
            out.append(int(part))
    return sorted(set(out))
#> '1-3', 9 ;; '5', 9 ;; '', 9 ;; '-2', 9 ;; '7-', 9 ;; '1,3-4,3', 9 ;; '8-20', 10 ;; '2,1', 5

def unescape(text):
    table = {'n': '\n', 't': '\t', '\\': '\\'}
    out = ''
    escaped = False
    for char in text:
        if escaped:
            out += table.get(char, char)
            escaped = False
        elif char == '\\':
            escaped = True
        else:
            out += char
    return out
#> 'a\\nb' ;; 'plain' ;; '' ;; '\\\\' ;; 'x\\qy' ;; '\\t\\t' ;; 'end\\'

def parse_ranges_header(text, size):
    if not text.startswith('bytes='):
        return None
    first, _, last = text[len('bytes='):].partition('-')
    if first == '':
        start = max(0, size - int(last))
        return (start, size - 1)
    start = int(first)
    end = int(last) if last else size - 1
    if start >= size or start > end:
        return None
    return (start, min(end, size - 1))
#> 'bytes=0-9', 100 ;; 'bytes=90-', 100 ;; 'bytes=-5', 100 ;; 'items=1-2', 10 ;; 'bytes=5-200', 50 ;; 'bytes=9-3', 20 ;; 'bytes=10-12', 10 ;; 'bytes=-50', 20

def parse_log(line):
    if not line.startswith('['):
        return None
    end = line.find(']')
    if end == -1:
        return None
    level = line[1:end].strip().lower()
    rest = line[end + 1:].strip()
    source, found, message = rest.partition(': ')
    if not found:
        return {'level': level, 'source': None, 'message': rest}
    return {'level': level, 'source': source, 'message': message}
#> '[INFO] app: started' ;; 'x' ;; '[warn] only text' ;; '[bad' ;; '[ Error ] db: lost: again' ;; '' ;; '[] : x'

def parse_money(text):
    text = text.strip()
    negative = text.startswith('(') and text.endswith(')')
    if negative:
        text = text[1:-1]
    if text.startswith('-'):
        negative = True
        text = text[1:]
    text = text.replace('$', '').replace(',', '')
    whole, _, part = text.partition('.')
    cents = int(whole or 0) * 100 + int((part + '00')[:2])
    return -cents if negative else cents
#> '$1,234.50' ;; '(5)' ;; '-3.07' ;; '0' ;; '.5' ;; ' $20 ' ;; '(1.25)' ;; '1.999'

def split_sentences(text):
    out = []
    current = ''
    for char in text:
        current += char
        if char in '.!?':
            if current.strip():
                out.append(current.strip())
            current = ''
    if current.strip():
        out.append(current.strip())
    return out
#> 'Hi. You?' ;; '' ;; 'no end' ;; 'A! B! c' ;; ' . ' ;; 'One. Two.  Three' ;; 'Wait?No.'

def glob_match(pattern, text):
    if not pattern:
        return not text
    if pattern[0] == '*':
        return glob_match(pattern[1:], text) or (bool(text) and glob_match(pattern, text[1:]))
    if text and pattern[0] in ('?', text[0]):
        return glob_match(pattern[1:], text[1:])
    return False
#> '*.py', 'a.py' ;; 'a?c', 'abc' ;; 'a?c', 'ac' ;; '', '' ;; '', 'x' ;; '*', '' ;; 'a*b*c', 'axxbyc' ;; 'abc', 'abd' ;; '*a', 'ab'

def expand_template(text, values):
    out = ''
    at = 0
    while at < len(text):
        start = text.find('{', at)
        if start == -1:
            break
        end = text.find('}', start)
        if end == -1:
            break
        name = text[start + 1:end]
        out += text[at:start] + str(values.get(name, '{' + name + '}'))
        at = end + 1
    return out + text[at:]
#> 'hi {name}!', {'name': 'Bo'} ;; 'plain', {} ;; '{a}{b}', {'a': 1, 'b': 2} ;; '{x', {'x': 1} ;; '{missing}', {} ;; 'a{b}c{d}e', {'b': 0, 'd': 9} ;; '', {}

def json_depth(text):
    depth = best = 0
    inside = False
    for at, char in enumerate(text):
        if char == '"' and (at == 0 or text[at - 1] != '\\'):
            inside = not inside
        elif not inside and char in '[{':
            depth += 1
            best = max(best, depth)
        elif not inside and char in ']}':
            depth -= 1
    return best
#> '[1,[2]]' ;; '{}' ;; '7' ;; '"[["' ;; '{"a": [{"b": 1}]}' ;; '[]' ;; '["\\"[", [[]]]'

def initials(name):
    letters = []
    for part in name.split():
        letters.append(part[0].upper())
    return '.'.join(letters)
#> 'ada lovelace' ;; 'grace brewster hopper' ;; '' ;; 'x' ;; '  many   blanks here ' ;; 'Élan vital'
#~ part[0].upper() ==> part[0]

def is_mirror(text):
    kept = [c.lower() for c in text if c.isalnum()]
    return kept == kept[::-1]
#> 'Level' ;; 'never odd or even' ;; 'abc' ;; '' ;; 'a!' ;; 'No lemon, no melon' ;; 'ab' ;; '1221'

def squeeze(text, keep=1):
    out = ''
    run = 0
    for at, char in enumerate(text):
        if at > 0 and char == text[at - 1]:
            run += 1
        else:
            run = 1
        if run <= keep:
            out += char
    return out
#> 'aaabbc' ;; 'aaabbc', 2 ;; '' ;; 'abc' ;; 'zzzzz', 3 ;; 'aabaa' ;; 'mississippi' ;; 'aa', 0

def camel_to_snake(name):
    out = []
    for at, char in enumerate(name):
        if char.isupper() and at > 0:
            out.append('_')
        out.append(char.lower())
    return ''.join(out)
#> 'camelCase' ;; 'Simple' ;; 'already' ;; 'aBC' ;; '' ;; 'getHttpPort' ;; 'X' ;; 'maxSizeOfPool'

def pad_center(text, width, fill=' '):
    missing = width - len(text)
    if missing <= 0:
        return text
    left = missing // 2
    right = missing - left
    return fill * left + text + fill * right
#> 'ab', 6 ;; 'abc', 6, '*' ;; 'long text', 4 ;; '', 3, '-' ;; 'x', 1 ;; 'odd', 8, '.' ;; 'even', 5, '_'

def common_prefix(words):
    if not words:
        return ''
    prefix = words[0]
    for word in words[1:]:
        while not word.startswith(prefix):
            prefix = prefix[:-1]
    return prefix
#> ['flow', 'flower', 'flight'] ;; [] ;; ['one'] ;; ['ab', 'cd'] ;; ['aaa', 'aa', 'aaaa'] ;; ['x', ''] ;; ['inter', 'internet', 'interval']
#~ words[1:] ==> words[2:]

def caesar(text, shift):
    out = ''
    for char in text:
        if 'a' <= char <= 'z':
            out += chr((ord(char) - ord('a') + shift) % 26 + ord('a'))
        elif 'A' <= char <= 'Z':
            out += chr((ord(char) - ord('A') + shift) % 26 + ord('A'))
        else:
            out += char
    return out
#> 'abc', 1 ;; 'xyz', 3 ;; 'Hello, World!', 13 ;; 'z', 1 ;; 'Zed', -1 ;; '', 5 ;; 'aZ', 27 ;; 'mid 9', 0

def word_lengths(text):
    counts = {}
    for word in text.split():
        word = word.strip('.,;!?')
        if word:
            counts[len(word)] = counts.get(len(word), 0) + 1
    return counts
#> 'a bb cc ddd' ;; '' ;; 'one, two; three!' ;; '... !' ;; 'same same same' ;; 'to be, or not to be.'

def run_length(text):
    if not text:
        return []
    runs = []
    current = text[0]
    count = 1
    for char in text[1:]:
        if char == current:
            count += 1
        else:
            runs.append((current, count))
            current = char
            count = 1
    runs.append((current, count))
    return runs
#> 'aaab' ;; '' ;; 'x' ;; 'abab' ;; 'zzyyyx' ;; 'aa' ;; '1112'
#~ count = 1
    runs ==> count = 0
    runs

def ellipsis(text, limit):
    if len(text) <= limit:
        return text
    if limit <= 3:
        return '.' * limit
    return text[:limit - 3] + '...'
#> 'hello world', 8 ;; 'short', 10 ;; 'exact', 5 ;; 'abcdef', 3 ;; 'abcdef', 4 ;; '', 0 ;; 'abcd', 2 ;; 'abcdefgh', 7

def is_anagram(first, second):
    counts = {}
    for char in first.lower():
        if char != ' ':
            counts[char] = counts.get(char, 0) + 1
    for char in second.lower():
        if char != ' ':
            counts[char] = counts.get(char, 0) - 1
    return all(value == 0 for value in counts.values())
#> 'listen', 'silent' ;; 'abc', 'abd' ;; '', '' ;; 'Dormitory', 'dirty room' ;; 'aab', 'abb' ;; 'a', '' ;; 'aa', 'a' ;; 'tea', 'Eat'

def vowels_first(word):
    vowels = [c for c in word if c in 'aeiou']
    others = [c for c in word if c not in 'aeiou']
    return ''.join(vowels + others)
#> 'banana' ;; 'sky' ;; 'aeiou' ;; '' ;; 'python' ;; 'queue' ;; 'xyzzy o'

def count_overlapping(text, part):
    if not part:
        return 0
    total = 0
    at = text.find(part)
    while at != -1:
        total += 1
        at = text.find(part, at + 1)
    return total
#> 'aaaa', 'aa' ;; 'abcabc', 'abc' ;; 'abc', 'x' ;; '', 'a' ;; 'abababa', 'aba' ;; 'aaa', '' ;; 'bob', 'b'
#~ at + 1 ==> at + len(part)

def title_case(text, small):
    words = text.lower().split(' ')
    for at, word in enumerate(words):
        if at == 0 or word not in small:
            words[at] = word.capitalize()
    return ' '.join(words)
#> 'the lord of the rings', ['of', 'the'] ;; 'A TALE', [] ;; '', ['x'] ;; 'of mice and men', ['of', 'and'] ;; 'one two', ['two'] ;; 'and and and', ['and']

def strip_comments(lines, mark='#'):
    kept = []
    for line in lines:
        at = line.find(mark)
        if at >= 0:
            line = line[:at]
        line = line.rstrip()
        if line:
            kept.append(line)
    return kept
#> ['a # b', '# c', 'd'] ;; [] ;; ['  x  ', ''] ;; ['k; v', ';'], ';' ;; ['##', 'a#b#c'] ;; ['no mark ', '   '] ;; ['#first', ' # x']

def hex_color(red, green, blue):
    def part(value):
        value = max(0, min(255, value))
        return '{:02x}'.format(value)
    return '#' + part(red) + part(green) + part(blue)
#> 255, 0, 128 ;; 0, 0, 0 ;; 300, -5, 15 ;; 16, 32, 48 ;; 1, 2, 3 ;; 255, 255, 256

def columns(rows, gap=2):
    if not rows:
        return []
    widths = [0] * len(rows[0])
    for row in rows:
        for at, cell in enumerate(row):
            widths[at] = max(widths[at], len(cell))
    out = []
    for row in rows:
        cells = [cell.ljust(widths[at] + gap) for at, cell in enumerate(row)]
        out.append(''.join(cells).rstrip())
    return out
#> [['a', 'bb'], ['ccc', 'd']] ;; [] ;; [['x', 'y']], 1 ;; [['one', 'two', 'three'], ['a', 'b', 'c']] ;; [['', 'z'], ['long', '']] ;; [['q', 'r'], ['ss', 't']], 0

def longest_word(text):
    best = ''
    for word in text.split():
        if len(word) > len(best):
            best = word
    return best
#> 'a bbb cc' ;; '' ;; 'one two six' ;; 'tie tia' ;; 'short longest mid' ;; 'x yy zzz wwww'

def indent_block(text, depth, skip_first=False):
    pad = '    ' * depth
    lines = text.split('\n')
    out = []
    for at, line in enumerate(lines):
        if not line or (skip_first and at == 0):
            out.append(line)
        else:
            out.append(pad + line)
    return '\n'.join(out)
#> 'a\nb', 1 ;; 'a\n\nb', 2 ;; 'x', 0 ;; 'x\ny\nz', 1, True ;; '', 1 ;; '\nq', 1, True ;; 'k\n', 1

def alternate_case(text):
    out = ''
    upper = True
    for char in text:
        if char.isalpha():
            out += char.upper() if upper else char.lower()
            upper = not upper
        else:
            out += char
    return out
#> 'hello' ;; 'a1b2c3' ;; '' ;; 'HELLO WORLD' ;; '--x--y' ;; 'ab cd'

def mask_secret(text, shown=4):
    if len(text) <= shown:
        return '*' * len(text)
    hidden = len(text) - shown
    return '*' * hidden + text[-shown:]
#> '1234567890' ;; 'abc' ;; 'abcd' ;; 'abcde' ;; '', 2 ;; 'topsecret', 2 ;; 'xyz', 1

import unittest

from inkwell.inline import inline


class Inline(unittest.TestCase):
    def test_strong(self):
        self.assertEqual(inline("a *b* c"), "a <strong>b</strong> c")

    def test_code(self):
        self.assertEqual(inline("run `ls`"), "run <code>ls</code>")

    def test_link(self):
        self.assertEqual(inline("[x](http://y)"), '<a href="http://y">x</a>')

    def test_escape(self):
        self.assertEqual(inline("1 < 2"), "1 &lt; 2")

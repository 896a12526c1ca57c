import unittest

from inkwell import render


class Page(unittest.TestCase):
    def test_paragraphs(self):
        self.assertEqual(render("a\nb\n\nc"), "<p>a b</p>\n<p>c</p>")

    def test_heading(self):
        self.assertEqual(render("## Two\ntext"), "<h2>Two</h2>\n<p>text</p>")

    def test_list(self):
        self.assertEqual(render("- a\n- b"), "<ul><li>a</li><li>b</li></ul>")

    def test_fence(self):
        self.assertEqual(render("```\nx = 1\n```"), "<pre>x = 1</pre>")

from human_bytes import human_bytes

def test_bytes():
    assert human_bytes(12) == '12.0 B'

def test_kibibytes():
    assert human_bytes(1536) == '1.5 KiB'

def test_mebibytes():
    assert human_bytes(1024 * 1024) == '1.0 MiB'

def test_beyond_the_names():
    assert human_bytes(2048 * 1024 ** 3) == '2048.0 GiB'

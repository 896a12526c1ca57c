from small_cache import SmallCache

def test_remembers():
    cache = SmallCache(2)
    cache.put('a', 1)
    assert cache.get('a') == 1

def test_forgets_the_oldest():
    cache = SmallCache(2)
    for key in 'abc':
        cache.put(key, key)
    assert (cache.get('a'), cache.get('b'), cache.get('c')) == (None, 'b', 'c')

def test_use_keeps():
    cache = SmallCache(2)
    cache.put('a', 1)
    cache.put('b', 2)
    cache.get('a')
    cache.put('c', 3)
    assert cache.get('a') == 1
    assert cache.get('b') is None

from datetime import date
from work_days import work_days

def test_a_week():
    assert work_days(date(2024, 1, 1), date(2024, 1, 7)) == 5

def test_one_day():
    assert work_days(date(2024, 1, 2), date(2024, 1, 2)) == 1

def test_holiday():
    assert work_days(date(2024, 1, 1), date(2024, 1, 2), [date(2024, 1, 1)]) == 1

def test_sunday():
    assert work_days(date(2024, 1, 7), date(2024, 1, 7)) == 0

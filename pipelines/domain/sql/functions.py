"""The functions that expressions may call. What is not in this table is refused, by name, before Spark sees it.

They compute a value from their arguments and from nothing else: none reads a file, a variable or another row, runs
code, waits, or makes a text of any length. Those that are volatile look at the clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

LONGEST_PADDING = 10_000
"""Characters that `lpad` and `rpad` may be asked for."""

VOLATILE = frozenset({"current_timestamp", "now", "current_date", "curdate", "localtimestamp"})
"""What another evaluation of the same event gives another value of."""

WITHOUT_PARENTHESES = frozenset({"current_timestamp", "current_date", "localtimestamp"})
"""Functions that SQL also calls by their mere name."""

PATTERNS = MappingProxyType(
    dict.fromkeys(
        (
            "rlike",
            "regexp",
            "regexp_like",
            "regexp_count",
            "regexp_extract",
            "regexp_extract_all",
            "regexp_instr",
            "regexp_replace",
            "regexp_substr",
            "split",
        ),
        1,
    )
)
"""Which argument of a function is a Java regular expression."""

PADDINGS = MappingProxyType({"lpad": 1, "rpad": 1})
"""Which argument of a function is the length of its result."""

_TABLE = """
# Text
ascii(text) | The number of the first character. | ascii(body)
bit_length(text) | The length in bits. | bit_length(body)
btrim(text [, characters]) | Without white space, or these characters, at both ends. | btrim(body, '{}')
char_length(text) | The number of characters. | char_length(body)
chr(number) | The character with this number. | chr(65)
concat(value, ...) | The values one after the other; null where one is null. | concat(key, '-', body)
concat_ws(separator, value, ...) | The values that are not null, with a separator between. | concat_ws('-', key, body)
contains(text, part) | Whether the text has the part. | contains(body, 'Ada')
endswith(text, part) | Whether the text ends with the part. | endswith(body, '}')
initcap(text) | Each word with a capital. | initcap(json.name)
instr(text, part) | The place of the part, from 1; 0 where there is none. | instr(body, 'Ada')
left(text, length) | The first characters. | left(body, 3)
length(text) | The number of characters, of binary data of bytes. | length(body)
locate(part, text [, from]) | The place of the part, from 1; 0 where there is none. | locate('Ada', body, 2)
lower(text) | In lower case. | lower(body)
lpad(text, length [, with]) | Filled up at the left; the length is a literal number. | lpad(key, 8, '0')
ltrim(text) | Without white space at the left. | ltrim(body)
luhn_check(digits) | Whether the last digit is right, as in card numbers. | luhn_check('79927398713')
mask(text [, upper, lower, digit, other]) | Characters replaced by X, x and n, by their kind. | mask(json.name)
octet_length(text) | The length in bytes. | octet_length(body)
overlay(text PLACING part FROM place [FOR length]) | A part put over another. | overlay(body PLACING '*' FROM 2 FOR 3)
position(part IN text) | The place of the part, from 1; 0 where there is none. | position('Ada' IN body)
replace(text, part [, by]) | Every occurrence of the part replaced. | replace(body, 'Ada', 'Eva')
reverse(value) | A text or an array backwards. | reverse(key)
right(text, length) | The last characters. | right(body, 3)
rpad(text, length [, with]) | Filled up at the right; the length is a literal number. | rpad(key, 8, ' ')
rtrim(text) | Without white space at the right. | rtrim(body)
split(text, pattern [, limit]) | The parts between matches of a pattern, which is a literal. | split(body, ',')
split_part(text, separator, number) | One of the parts between separators, from 1. | split_part(body, ',', 1)
startswith(text, part) | Whether the text begins with the part. | startswith(body, '{')
substr(text, from [, length]) | A part of the text, from 1. | substr(body, 2, 3)
substring(text, from [, length]) | A part of the text, from 1. | substring(body, 2, 3)
substring_index(text, separator, count) | What stands before so many separators. | substring_index(body, ',', 1)
translate(text, from, to) | Characters replaced by others, one by one. | translate(body, 'ab', 'xy')
trim([BOTH characters FROM] text) | Without white space, or these characters, at both ends. | trim(BOTH '{' FROM body)
upper(text) | In upper case. | upper(body)

# Patterns: Java regular expressions, as literals; those whose run time can explode are refused
regexp(text, pattern) | Whether the pattern is found in the text. | regexp(body, 'A.a')
regexp_count(text, pattern) | How often the pattern is found. | regexp_count(body, 'a')
regexp_extract(text, pattern [, group]) | A group of the first match, or empty. | regexp_extract(body, '([0-9]+)', 1)
regexp_extract_all(text, pattern [, group]) | A group of all matches. | regexp_extract_all(body, '([0-9]+)', 1)
regexp_instr(text, pattern) | The place of the first match, from 1; 0 where there is none. | regexp_instr(body, '[0-9]')
regexp_like(text, pattern) | Whether the pattern is found in the text. | regexp_like(body, 'A.a')
regexp_replace(text, pattern, by) | Every match replaced. | regexp_replace(body, '[0-9]', '*')
regexp_substr(text, pattern) | The first match; null where there is none. | regexp_substr(body, '[0-9]+')
rlike(text, pattern) | Whether the pattern is found in the text. | rlike(body, 'A.a')

# Numbers
abs(number) | The absolute value. | abs(json.amount)
bround(number [, places]) | Rounded, halves to the even neighbour. | bround(json.amount, 1)
ceil(number) | The next whole number above. | ceil(json.amount)
conv(digits, from, to) | A number in another base. | conv('ff', 16, 10)
exp(number) | e to this power. | exp(1)
floor(number) | The next whole number below. | floor(json.amount)
greatest(value, value, ...) | The greatest value that is not null. | greatest(json.id, 5)
isnan(number) | Whether it is not a number. | isnan(json.amount)
least(value, value, ...) | The least value that is not null. | least(json.id, 5)
ln(number) | The natural logarithm. | ln(json.amount)
log10(number) | The logarithm to the base 10. | log10(json.amount)
mod(number, by) | The remainder of a division. | mod(json.id, 2)
nanvl(number, otherwise) | Another value for what is not a number. | nanvl(json.amount, 0D)
negative(number) | With the other sign. | negative(json.id)
pmod(number, by) | The remainder of a division, never negative. | pmod(json.id, 2)
power(number, exponent) | A power. | power(json.id, 2)
round(number [, places]) | Rounded, halves away from zero. | round(json.amount, 1)
sign(number) | -1, 0 or 1. | sign(json.amount)
sqrt(number) | The square root. | sqrt(json.amount)
to_char(value, format) | A number or a time as text. | to_char(json.id, '999')
to_number(text, format) | A number out of text. | to_number('1,234', '9,999')
try_add(value, value) | The sum; null where it does not fit. | try_add(json.id, 1)
try_divide(number, by) | The quotient; null for a division by zero. | try_divide(json.id, 0)
try_mod(number, by) | The remainder; null for a division by zero. | try_mod(json.id, 2)
try_multiply(number, number) | The product; null where it does not fit. | try_multiply(json.id, 2)
try_subtract(value, value) | The difference; null where it does not fit. | try_subtract(json.id, 1)
try_to_number(text, format) | A number out of text; null where it is none. | try_to_number('x', '999')

# Conditions and types
between(value, low, high) | Whether it is neither below nor above. | between(json.id, 1, 9)
cast(value AS type) | The value as another type; a value that does not fit is an error. | cast(json.id AS STRING)
coalesce(value, ...) | The first value that is not null. | coalesce(json.name, 'none')
equal_null(value, value) | Whether they are equal, or both null. | equal_null(json.name, key)
if(condition, value, otherwise) | One of two values. | if(json.id > 5, 'high', 'low')
ifnull(value, otherwise) | Another value for null. | ifnull(json.name, 'none')
isnotnull(value) | Whether it is not null. | isnotnull(json.name)
isnull(value) | Whether it is null. | isnull(json.name)
nullif(value, value) | Null where they are equal. | nullif(json.name, '')
nvl(value, otherwise) | Another value for null. | nvl(json.name, 'none')
nvl2(value, if_set, otherwise) | One of two values, by whether the first is null. | nvl2(json.name, 'yes', 'no')
try_cast(value AS type) | The value as another type; null where it does not fit. | try_cast(json.name AS INT)

# Time: the zone is UTC
add_months(date, months) | So many months later. | add_months(DATE'2026-01-31', 1)
convert_timezone(from, to, time) | A local time elsewhere. | convert_timezone('UTC', 'CET', TIMESTAMP_NTZ'2026-01-31')
curdate() | The day on which the batch was planned. | curdate()
current_date() | The day on which the batch was planned. | current_date()
current_timestamp() | The time at which the batch was planned. | current_timestamp()
date_add(date, days) | So many days later. | date_add(DATE'2026-01-31', 1)
date_diff(end, start) | The days between. | date_diff(DATE'2026-01-31', DATE'2026-01-01')
date_format(time, pattern) | A time as text. | date_format(timestamp, 'yyyy-MM-dd')
date_from_unix_date(days) | A day, by its number since 1970. | date_from_unix_date(20000)
date_part(part, time) | A part such as 'HOUR' of a time. | date_part('HOUR', timestamp)
date_sub(date, days) | So many days earlier. | date_sub(DATE'2026-01-31', 1)
date_trunc(unit, time) | The beginning of the hour, day and so on. | date_trunc('HOUR', timestamp)
dayofmonth(time) | The day of the month. | dayofmonth(timestamp)
dayofweek(time) | The day of the week, 1 is Sunday. | dayofweek(timestamp)
dayofyear(time) | The day of the year. | dayofyear(timestamp)
extract(part FROM time) | A part such as HOUR of a time. | extract(HOUR FROM timestamp)
from_unixtime(seconds [, pattern]) | Seconds since 1970 as text. | from_unixtime(0, 'yyyy')
from_utc_timestamp(time, zone) | The local time of a zone. | from_utc_timestamp(timestamp, 'Europe/Prague')
hour(time) | The hour. | hour(timestamp)
last_day(date) | The last day of the month. | last_day(DATE'2026-01-31')
localtimestamp() | The time at which the batch was planned, without a zone. | localtimestamp()
make_date(year, month, day) | A day. | make_date(2026, 1, 31)
make_timestamp(year, month, day, hour, minute, second) | A time. | make_timestamp(2026, 1, 31, 12, 0, 0)
minute(time) | The minute. | minute(timestamp)
month(time) | The month. | month(timestamp)
months_between(end, start) | The months between. | months_between(timestamp, DATE'2026-01-01')
next_day(date, day) | The next day of the week with this name. | next_day(DATE'2026-01-31', 'Mon')
now() | The time at which the batch is worked on; current_timestamp() stays when it is tried again. | now()
quarter(time) | The quarter of the year. | quarter(timestamp)
second(time) | The second. | second(timestamp)
timestamp_micros(number) | A time, by its microseconds since 1970. | timestamp_micros(0)
timestamp_millis(number) | A time, by its milliseconds since 1970. | timestamp_millis(0)
timestamp_seconds(number) | A time, by its seconds since 1970. | timestamp_seconds(0)
timestampadd(unit, number, time) | So many units later. | timestampadd(DAY, 1, timestamp)
timestampdiff(unit, start, end) | The units between. | timestampdiff(DAY, TIMESTAMP'2026-01-01 00:00:00', timestamp)
to_date(text [, pattern]) | A day out of text. | to_date('2026-01-31')
to_timestamp(text [, pattern]) | A time out of text. | to_timestamp('31.01.2026', 'dd.MM.yyyy')
to_unix_timestamp(time [, pattern]) | The seconds since 1970. | to_unix_timestamp(timestamp)
to_utc_timestamp(time, zone) | The time in UTC of a local time. | to_utc_timestamp(timestamp, 'Europe/Prague')
trunc(date, unit) | The first day of the month, year and so on. | trunc(DATE'2026-01-31', 'MM')
try_to_date(text [, pattern]) | A day out of text; null where it is none. | try_to_date('soon')
try_to_timestamp(text [, pattern]) | A time out of text; null where it is none. | try_to_timestamp('soon')
unix_date(date) | The days since 1970. | unix_date(DATE'2026-01-31')
unix_micros(time) | The microseconds since 1970. | unix_micros(timestamp)
unix_millis(time) | The milliseconds since 1970. | unix_millis(timestamp)
unix_seconds(time) | The seconds since 1970. | unix_seconds(timestamp)
weekday(time) | The day of the week, 0 is Monday. | weekday(timestamp)
weekofyear(time) | The week of the year. | weekofyear(timestamp)
year(time) | The year. | year(timestamp)

# Digests and encodings
base64(binary) | Base64. | base64(body)
bin(number) | The digits of a number to the base 2. | bin(json.id)
crc32(binary) | A checksum. | crc32(body)
decode(binary, charset) | Text out of bytes. | decode(unhex('41'), 'UTF-8')
encode(text, charset) | The bytes of a text. | encode(body, 'UTF-8')
hash(value, ...) | A number of 32 bits; the same for the same values. | hash(key)
hex(value) | Hexadecimal digits. | hex(body)
md5(binary) | A digest, in hexadecimal. | md5(body)
sha1(binary) | A digest, in hexadecimal. | sha1(body)
sha2(binary, bits) | A digest, in hexadecimal. | sha2(key, 256)
try_to_binary(text [, format]) | Bytes out of text; null where it is not well written. | try_to_binary('x', 'hex')
unbase64(text) | The bytes of Base64. | unbase64('QQ==')
unhex(text) | The bytes of hexadecimal digits. | unhex('41')
url_decode(text) | Text out of an address. | url_decode('a%20b')
url_encode(text) | Text for an address. | url_encode(json.name)
parse_url(address, part [, key]) | A part of an address, such as 'HOST'. | parse_url('http://a/b?c=d', 'QUERY', 'c')
try_parse_url(address, part [, key]) | The same; null where it is no address. | try_parse_url('no address', 'HOST')
xxhash64(value, ...) | A number of 64 bits; the same for the same values. | xxhash64(key)

# JSON
get_json_object(text, path) | What is at a path, as text. | get_json_object(body, '$.name')
is_variant_null(variant) | Whether it is the null of JSON. | is_variant_null(parse_json(body))
json_array_length(text) | The number of elements of a JSON array. | json_array_length('[1,2]')
json_object_keys(text) | The names of a JSON object. | json_object_keys(body)
parse_json(text) | A VARIANT; an error where it is no JSON. | parse_json(body)
to_json(value) | The JSON of a struct, map, array or VARIANT. | to_json(json.tags)
to_variant_object(value) | A VARIANT of a struct, map or array. | to_variant_object(json.tags)
try_parse_json(text) | A VARIANT; null where it is no JSON. | try_parse_json('{')
variant_get(variant, path, type) | What is at a path. | variant_get(parse_json(body), '$.id', 'BIGINT')
try_variant_get(variant, path, type) | The same, or null. | try_variant_get(parse_json(body), '$.a', 'INT')

# Arrays, maps and structs
array(value, ...) | An array. | array(1, 2)
array_append(array, value) | With one element more. | array_append(json.tags, 'c')
array_compact(array) | Without nulls. | array_compact(json.tags)
array_contains(array, value) | Whether it has the element. | array_contains(json.tags, 'a')
array_distinct(array) | Without repetitions. | array_distinct(json.tags)
array_except(array, array) | The elements that the second one does not have. | array_except(json.tags, array('a'))
array_intersect(array, array) | The elements of both. | array_intersect(json.tags, array('a'))
array_join(array, separator) | The elements as one text. | array_join(json.tags, ',')
array_max(array) | The greatest element. | array_max(json.tags)
array_min(array) | The least element. | array_min(json.tags)
array_position(array, value) | The place of an element, from 1; 0 where there is none. | array_position(json.tags, 'b')
array_remove(array, value) | Without an element. | array_remove(json.tags, 'a')
array_size(array) | The number of elements. | array_size(json.tags)
array_union(array, array) | The elements of either, once each. | array_union(json.tags, array('c'))
arrays_overlap(array, array) | Whether they have an element in common. | arrays_overlap(json.tags, array('a'))
element_at(value, key) | An element by its place from 1, or a value by its key. | element_at(json.tags, 1)
flatten(array) | The elements of the arrays within. | flatten(array(json.tags))
get(array, index) | An element by its index from 0; null where there is none. | get(json.tags, 0)
map(key, value, ...) | A map. | map('a', 1)
map_concat(map, ...) | One map of several; the last value of a key counts. | map_concat(headers, map('a', 'b'))
map_contains_key(map, key) | Whether it has the key. | map_contains_key(headers, 'country')
map_from_arrays(keys, values) | A map. | map_from_arrays(array('a'), array(1))
map_keys(map) | The keys. | map_keys(headers)
map_values(map) | The values. | map_values(headers)
named_struct(name, value, ...) | A struct. | named_struct('id', json.id)
size(value) | The number of elements of an array or a map. | size(headers)
slice(array, from, length) | Some of the elements. | slice(json.tags, 1, 1)
sort_array(array [, ascending]) | Sorted. | sort_array(json.tags, false)
struct(value, ...) | A struct, with the names of what it is made of. | struct(json.id, json.name)
try_element_at(value, key) | The same; null where there is no such place. | try_element_at(json.tags, 9)

# Elements of arrays, by `name -> expression`: interpreted, which is slower than what is compiled
aggregate(array, start, (sum, element) -> value) | One value of all. | aggregate(json.tags, '', (s, t) -> concat(s, t))
exists(array, element -> condition) | Whether the condition holds for one. | exists(json.tags, t -> t = 'a')
filter(array, element -> condition) | Those for which the condition holds. | filter(json.tags, t -> t <> 'a')
forall(array, element -> condition) | Whether the condition holds for all. | forall(json.tags, t -> t <> 'c')
transform(array, element -> value) | A value of each. | transform(json.tags, t -> upper(t))
"""


@dataclass(frozen=True)
class Function:
    """A function: how it is called, what it gives, and an expression that calls it."""

    name: str
    group: str
    signature: str
    description: str
    example: str

    @property
    def volatile(self) -> bool:
        """Whether another evaluation of the same event gives another value."""
        return self.name in VOLATILE


@cache
def functions() -> dict[str, Function]:
    """By name, in the order of the table."""
    found: dict[str, Function] = {}
    group = ""
    for line in filter(None, _TABLE.splitlines()):
        if line.startswith("# "):
            group = line.removeprefix("# ").partition(":")[0]
            continue
        signature, description, example = (part.strip() for part in line.split(" | "))
        name = signature.partition("(")[0]
        found[name] = Function(name, group, signature, description, example)
    return found

"""Has templates that are no model's: what the language can do, and single constructs of it."""

TEMPLATES = [
    ("macros and tools", """{%- macro type_of(spec, depth=0) -%}
  {%- if spec is mapping and 'items' in spec -%}
    list[{{ type_of(spec['items'], depth + 1) }}]
  {%- elif spec is mapping -%}
    {%- for key, value in spec | dictsort -%}
      {{ key }}={{ type_of(value, depth + 1) }}{{ "," if not loop.last }}
    {%- endfor -%}
  {%- else -%}{{ spec }}@{{ depth }}{%- endif -%}
{%- endmacro -%}
{{ type_of({'items': {'b': 'int', 'A': {'items': 'str'}}}) }}
{%- macro turn(role, content='', end='<|end|>') %}
<|{{ role }}|>
{{ content|trim }}{{ end }}
{% endmacro %}
{% for m in messages if m.content %}
{{ turn(m.role, content=m.content) -}}
{% else %}
nobody said anything
{% endfor %}
{{ turn('assistant', end='') }}"""),
    ("json of everything", "{{ messages | tojson }}\n{{ messages | tojson(indent=2) }}\n{{ messages | tojson(ensure_ascii=true) }}\n{{ messages }}"),
    ("string methods on contents", "{% for m in messages %}{% set c = m.content %}[{{ c.strip() }}|{{ c.split() }}|{{ c.splitlines() }}|{{ c.upper() }}|{{ c | title }}|{{ c.title() }}|{{ c | capitalize }}|{{ c[::-1] }}|{{ c[1:-1] }}|{{ c | length }}|{{ c | wordcount }}|{{ c.find('o') }}|{{ c | e }}|{{ c | truncate(9) }}|{{ c.split('\n', 1) }}|{{ c.rsplit(' ', 1) }}|{{ c | list | unique | join('.') }}]{% endfor %}"),
    ("loop variables", "{% for m in messages %}{{ loop.index }}/{{ loop.index0 }}/{{ loop.revindex }}/{{ loop.revindex0 }}/{{ loop.first }}/{{ loop.last }}/{{ loop.length }}/{{ loop.previtem.role }}/{{ (loop.nextitem or {}).role }}/{{ loop.cycle('a', 'b') }}/{{ loop.changed(m.role) }};{% endfor %}"),
    ("loop variables without the first", "{% for m in messages %}{{ loop.previtem.role if not loop.first }}|{{ loop.nextitem.role if not loop.last }};{% endfor %}"),
]

CONSTRUCTS = [line for line in r'''
{{ 1 + 2 * 3 - 4 / 2 }} {{ 7 // 2 }} {{ -7 // 2 }} {{ 7 % 3 }} {{ -7 % 3 }} {{ 7 % -3 }} {{ 2 ** 10 }} {{ 2 ** -1 }} {{ 2 ** 3 ** 2 }}
{{ 7.5 // 2 }} {{ -7.5 // 2 }} {{ -7.5 % 2 }} {{ 7.5 % -2 }} {{ 1e3 }} {{ 1.5e-7 }} {{ 1e16 }} {{ 123456789012345678 / 1 }} {{ 0.1 + 0.2 }} {{ 1e22 }} {{ 1/3 }} {{ 100.0 }} {{ 1e15 }} {{ 0.0001 }} {{ 0.00001 }}
{{ 0x1F }} {{ 0b101 }} {{ 0o17 }} {{ 1_000 }} {{ 1_0.5 }} {{ -5 }} {{ +5 }} {{ - 5 | abs }} {{ -2 ** 2 }} {{ true + 1 }}
{{ 9223372036854775807 }} {{ 9223372036854775806 + 1 }} {{ -9223372036854775807 - 1 }}
{{ 9223372036854775807 % -1844674407370955162 }} {{ -9223372036854775807 // 3 }} {{ 5 % -9223372036854775807 }} {{ -5 % 9223372036854775807 }}
{{ 1 / 0 }}
{{ 1 // 0 }}
{{ 1 % 0 }}
{{ 1.0 / 0 }}
{{ 'a' + 'b' }} {{ 'ab' * 3 }} {{ 3 * 'ab' }} {{ 'a' * 0 }} {{ 'a' * -1 }} {{ [1] * 2 }} {{ (1, 2) + (3,) }} {{ [1] + [2, 3] }}
{{ 'a' + 1 }}
{{ [1] + (2,) }}
{{ 1 ~ 2 ~ 'x' ~ none ~ true ~ 1.0 ~ [1, 'a'] ~ undefined_thing }}
{{ 1 < 2 < 3 }} {{ 1 < 2 > 3 }} {{ 3 > 2 > 1 == 1 }} {{ 1 == 1.0 }} {{ 1 == true }} {{ '1' == 1 }} {{ [1, 2] == [1, 2] }} {{ (1,) == [1] }} {{ {'a': 1} == {'a': 1.0} }} {{ 'a' < 'b' }} {{ [1, 2] < [1, 3] }} {{ none == none }}
{{ 1 < 'a' }}
{{ none < 1 }}
{{ 1 != 2 }} {{ 1 >= 1 }} {{ 2 <= 1 }} {{ not 1 }} {{ not not 'x' }} {{ 1 and 0 }} {{ 0 or 'x' }} {{ '' or [] or 'y' }} {{ 1 and 'z' }} {{ not 1 == 2 }}
{{ 'a' in 'abc' }} {{ 'd' not in 'abc' }} {{ 1 in [1, 2] }} {{ 'k' in {'k': 1} }} {{ 3 in range(5) }} {{ '' in '' }} {{ 1 in (2, 3) }} {{ 'x' in nothing }} {{ not 'a' in 'b' }}
{{ 1 in 'abc' }}
{{ 'a' in 5 }}
{{ 'a' in none }}
{{ [1] in {'a': 1} }}
{{ 'yes' if 1 else 'no' }} {{ 'yes' if 0 else 'no' }} [{{ 'yes' if 0 }}] {{ 'a' if 0 else 'b' if 0 else 'c' }} {{ ('x' if false) is defined }}
{{ ('x' if false).foo }}
{{ [1, 2, 3][0] }} {{ [1, 2, 3][-1] }} [{{ [1][5] }}] {{ 'abc'[1] }} {{ 'abc'[-1] }} {{ (1, 2)[1] }} {{ range(10)[3] }} {{ [1, 2].1 }} {{ {'a': {'b': [5]}}.a.b[0] }} {{ {1: 'x'}[1] }} {{ [[1, 2], [3]].0.1 }}
{{ 'hello'[1:3] }} {{ 'hello'[:2] }} {{ 'hello'[-3:] }} {{ 'hello'[::-1] }} {{ 'hello'[::2] }} {{ 'hello'[4:1:-1] }} {{ 'hello'[10:] }}| {{ [1, 2, 3, 4][1:-1] }} {{ [1, 2, 3, 4][::-2] }} {{ (1, 2, 3)[:2] }} {{ range(10)[2:5] }} {{ range(10)[::-3] }} {{ [1,2,3][:] }} {{ 'héllo漢😀'[1:] }} {{ [1,2,3][-100:100] }} {{ [1,2,3][5:1] }} {{ [1,2][1::] }} {{ 'abc'[none:2] }}
{{ 'abc'[::0] }}
{{ 'abc'['x':] }}
{{ {'a': 1}['a'] }} {{ {'a': 1}.a }} [{{ {'a': 1}.b }}] [{{ {'a': 1}['b'] }}] {{ {'items': 1}['items'] }} {{ {'a': 1}.get('a') }} {{ {'a': 1}.get('b') }} {{ {'a': 1}.get('b', 2) }} {{ {'a': 1, 'b': 2}.items() | list }} {{ {'a': 1}.keys() | list }} {{ {'a': 1}.values() | list }} {{ {'a': 1, 'a': 2} }} {{ {'x': 1, 'y': [none, true]} }} {{ {} }} {{ {'a': 1,} }}
{{ {'a': 1}.items() }} {{ {'a': 1}.keys() }} {{ {'a': 1}.values() }} {{ dict(a=1, b='x') }} {{ dict([('a', 1)], b=2) }} {{ dict({'z': 0}) }}
{{ {[1]: 2} }}
{{ undefined_thing.foo }}
{{ undefined_thing['foo'] }}
{{ undefined_thing + 1 }}
{{ undefined_thing() }}
{{ undefined_thing < 1 }}
[{{ undefined_thing }}] {{ undefined_thing == other_thing }} {{ undefined_thing == none }} {{ not undefined_thing }} {{ undefined_thing | length }} {{ undefined_thing | list }} {% for x in undefined_thing %}x{% else %}empty{% endfor %} {{ [undefined_thing] }} {{ undefined_thing | upper }}|{{ undefined_thing is defined }}
{{ messages[0].foo.bar }}
{{ messages[0].append }}{{ messages.append is defined }}
{{ messages.append(1) }}
{{ none.foo }}[{{ 5.foo }}]
{{ 5() }}
{{ 'x'.nothing() }}
{{ "a\n\t\\\"\x41\u00e9\101" }} {{ 'it''s' }} {{ "a" "b" 'c' }} {{ 'a\qb' }}
{{ ['a', "it's", 'q"q', 'both\'"', 'n\nt\t\\', 'é漢', '\x00\x7f\xa0'] }}
{{ [1, 1.5, true, false, none, (1,), (), [], {}, (1, 2)] }} {{ (1,) }} {{ () }} {{ 1, 2 }} {{ (1) }}
{{ none }} {{ true }} {{ false }} {{ None }} {{ True }} {{ False }} {{ 'None' }}
{{ range(3) }} {{ range(1, 4) | list }} {{ range(5, 0, -2) | list }} {{ range(0) | list }} {{ range(2, 8, 3) }} {{ range(3) | length }}
{{ range(1, 2, 0) }}
{{ range('a') }}
{{ range(100001) }}
{% for i in range(3) %}{{ i }}{% endfor %} {% for i in [] %}{{ i }}{% else %}none{% endfor %} {% for c in 'abc' %}{{ c }}-{% endfor %} {% for k in {'a': 1, 'b': 2} %}{{ k }}{% endfor %} {% for k, v in {'a': 1, 'b': 2}.items() %}{{ k }}={{ v }};{% endfor %}
{% for a, (b, c) in [(1, (2, 3)), (4, (5, 6))] %}{{ a }}{{ b }}{{ c }} {% endfor %}
{% for (a, b) in [[1, 2]] %}{{ a }}{{ b }}{% endfor %}
{% for a, b in [[1, 2]] %}{{ a }}{{ b }}{{ loop.index }}{% endfor %}
{% for a, b in [(1, 2, 3)] %}{% endfor %}
{% for a, b in [(1,)] %}{% endfor %}
{% for x in 5 %}{% endfor %}
{% for x in none %}{% endfor %}
{% for i in range(10) if i % 2 %}{{ i }}:{{ loop.index }}:{{ loop.length }}:{{ loop.last }} {% endfor %}{% for i in range(3) if false %}x{% else %}nothing{% endfor %}
{% for i in range(5) %}{% if i == 3 %}{% break %}{% endif %}{% if i == 1 %}{% continue %}{% endif %}{{ i }}{% endfor %} {% for i in range(3) %}{% continue %}{% else %}E{% endfor %} {% for i in range(3) %}{% break %}{% else %}E{% endfor %} {% for i in range(3) %}{{ i }}{% if i %}{% break %}{% endif %}{% else %}E{% endfor %}
{% for i in [1, 2] %}{% for j in [3, 4] %}{{ loop.index }}{{ i }}{{ j }} {% endfor %}{{ loop.index }};{% endfor %}
{% for i in [1, 2] %}{% set outer = loop %}{% for j in 'ab' %}{{ outer.index }}{{ loop.index }}{{ outer.last }} {% endfor %}{% endfor %}
{% set ns = namespace(skip=false) %}{% for i in range(6) if not ns.skip %}{{ i }}{% if i == 2 %}{% set ns.skip = true %}{% endif %}{% endfor %}
{% for item in [{'n': 1, 'c': [{'n': 2, 'c': []}]}, {'n': 3, 'c': []}] recursive %}{{ item.n }}@{{ loop.depth }}({{ loop(item.c) }}){% endfor %}
{% set x = 1 %}{% for i in [1, 2] %}{{ x }}{% set x = x + 10 %}{{ x }} {% endfor %}{{ x }}
{% set x = 1 %}{% if true %}{% set x = 2 %}{% set y = 3 %}{% endif %}{{ x }}{{ y }}
{% for i in [1] %}{% set inside = i %}{% endfor %}[{{ inside }}]
{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set (c, d) = [3, 4] %}{{ c }}{{ d }}{% set t = 1, 2 %}{{ t }}
{% set a, b = 1 %}
{% set x %}  block {{ 1 + 1 }} {% endset %}[{{ x }}]{% set y | trim | upper %}  abc {% endset %}[{{ y }}]
{% set v = 1 %}{% set x %}{% set v = 2 %}{{ v }}{% endset %}{{ x }}{{ v }}
{% set ns = namespace(a=1) %}{% for i in range(3) %}{% set ns.a = ns.a + i %}{% set ns.b = i %}{% endfor %}{{ ns.a }} {{ ns.b }} {{ ns['a'] }} {{ ns }} [{{ ns.c }}] {{ ns.c is defined }}
{% set ns = namespace({'a': 1}, b=2) %}{{ ns.a }}{{ ns.b }}{% set ns.c %}block{% endset %}{{ ns.c }}
{% set d = {'a': 1} %}{% set d.a = 2 %}
{% macro m(a, b=2, c=a) %}{{ a }}-{{ b }}-{{ c }}{% endmacro %}{{ m(1) }} {{ m(1, 3) }} {{ m(1, c=5) }} {{ m(b=7, a=6) }} [{{ m() }}] {{ m(*[1, 2]) }} {{ m(**{'a': 9}) }}
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, z=2) }}
{% macro m(a) %}{{ a }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, 3, x=4) }}{{ m }}
{% macro m() %}{{ g }}{% endmacro %}{% set g = 5 %}{{ m() }}{% for g in [7] %}{{ m() }}{% endfor %}
{% for i in [1, 2] %}{% macro m() %}{{ i }}{% endmacro %}{{ m() }}{% endfor %}[{{ m is defined }}]
{% macro fact(n) %}{{ n * (fact(n - 1) | int) if n > 1 else 1 }}{% endmacro %}{{ fact(10) }}
{% macro dialog(title) %}<{{ title }}>{{ caller() }}</{{ title }}>{% endmacro %}{% call dialog('x') %}body {{ 1 + 1 }}{% endcall %}
{% macro each(items) %}{% for i in items %}{{ caller(i, loop.index) }}{% endfor %}{% endmacro %}{% call(v, n=0) each('ab') %}[{{ v }}{{ n }}]{% endcall %}
{% macro m() %}{{ caller is defined }}{% endmacro %}{{ m() }}
{% filter upper %}abc {{ 'def' }}{% endfilter %} {% filter replace('a', 'b') | trim %} aaa {% endfilter %}
{% with a = 1, b = 2 %}{{ a }}{{ b }}{% set c = 3 %}{% endwith %}[{{ a }}{{ c }}] {% with %}{% set z = 1 %}{{ z }}{% endwith %}{{ z is defined }}
{% generation %}x{{ 1 }}{% set q = 2 %}{% endgeneration %}{{ q is defined }}
{% raw %}{{ not }} {% this %} {# nor #}{% endraw %} {%- raw -%}  x  {%- endraw -%}  y
{# comment #}a{#- b -#} c {# {{ }} {% %} #}d
a {{- ' b ' -}} c {%- if true -%} d {%- endif -%} e {%+ if true +%} f {%+ endif %} g
{{ 'trim'|trim }} {{ '  x '|trim }}| {{ 'xxaxx'|trim('x') }} {{ 'a-b'|upper }} {{ 'ABC'|lower }} {{ 'hELLO wORLD'|capitalize }} {{ "they're bill's (friends) x-y"|title }} {{ "they're bill's"|replace("'", '') }} {{ 'aaa'|replace('a', 'b', 2) }} {{ 'abc'|replace('', '-') }} {{ 5|replace(5, 6) }}
{{ 'straße'|upper }} {{ 'ÉCOLE'|lower }} {{ 'éa'|capitalize }} {{ 'ŁÓDŹ'|title }} {{ 'привет'.upper() }} {{ 'ÿ'|upper }}
{{ 'x'|length }} {{ [1, 2]|count }} {{ {'a': 1}|length }} {{ '漢字😀'|length }} {{ ''|length }}
{{ 5|length }}
{{ none|length }}
{{ [3, 1, 2]|join(', ') }} {{ [1, 2]|join }} {{ [{'a': 1}, {'a': 2}]|join('-', attribute='a') }} {{ 'abc'|join('.') }} {{ [none, true, 1.0]|join(' ') }} {{ [[1], 'x']|join('|') }}
{{ [1, 2]|first }} {{ [1, 2]|last }} {{ 'abc'|first }}{{ 'abc'|last }} [{{ []|first }}{{ []|last }}] {{ {'a': 1}|first }} {{ range(3)|last }} [{{ nothing|last }}]
{{ nothing|default('d') }} {{ ''|default('d') }}| {{ ''|default('d', true) }} {{ none|default('x') }} {{ none|d('x', boolean=true) }} {{ 0|d(5, true) }} [{{ nothing|default }}] {{ messages[0].foo|default('f') }}
{{ 'abc'|list }} {{ (1, 2)|list }} {{ {'a': 1}|list }} {{ 5|string }} {{ [1]|string }} {{ none|string }}
{{ 5|list }}
{{ '42'|int }} {{ ' 42 '|int }} {{ '42.9'|int }} {{ 'x'|int }} {{ 'x'|int(-1) }} {{ '0x1f'|int(base=16) }} {{ '1f'|int(0, 16) }} {{ 3.99|int }} {{ -3.99|int }} {{ true|int }} {{ none|int }} {{ [1]|int(7) }} {{ '1_000'|int }} {{ ''|int }} {{ '-5'|int }} {{ '+5'|int }} {{ '1e3'|int }} {{ '101'|int(base=2) }}
{{ '1.5'|float }} {{ 'x'|float }} {{ 'x'|float(2.5) }} {{ 3|float }} {{ '1e3'|float }} {{ ' 7 '|float }} {{ true|float }} {{ '.5'|float }} {{ 'inf'|float }} {{ '-Infinity'|float }} {{ 'nan'|float }}
{{ -5|abs }} {{ (-5)|abs }} {{ -1.5|abs }} {{ 42.55|round }} {{ 42.55|round(1) }} {{ 42.55|round(1, 'floor') }} {{ 42.1|round(0, 'ceil') }} {{ 2.5|round }} {{ 3.5|round }} {{ 2.675|round(2) }} {{ 42|round }} {{ 1234.5|round(-2) }} {{ 0.125|round(2) }}
{{ [3, 1, 2]|min }} {{ [3, 1, 2]|max }} {{ ['b', 'A']|min }} {{ ['b', 'A']|min(case_sensitive=true) }} {{ [{'n': 2}, {'n': 1}]|max(attribute='n') }} [{{ []|max }}] {{ [1, 2, 3]|sum }} {{ [1.5, 2]|sum }} {{ [{'n': 2}, {'n': 1}]|sum(attribute='n') }} {{ [[1], [2]]|sum(start=[]) }} {{ []|sum }}
{{ ['a']|sum }}
{{ [3, 1, 2]|sort }} {{ [3, 1, 2]|sort(reverse=true) }} {{ ['b', 'A', 'c', 'B']|sort }} {{ ['b', 'A', 'c']|sort(case_sensitive=true) }} {{ [{'n': 2, 'm': 1}, {'n': 1, 'm': 3}, {'n': 1, 'm': 2}]|sort(attribute='n') }} {{ [{'n': 2, 'm': 1}, {'n': 1, 'm': 3}, {'n': 1, 'm': 2}]|sort(attribute='n,m') }} {{ 'hello'|sort }} {{ {'b': 1, 'a': 2}|sort }}
{{ [1, 'a']|sort }}
{{ [1, 2, 1, 'a', 'A', 'a']|unique|list }} {{ ['a', 'A']|unique(true)|list }} {{ [{'n': 1, 'x': 1}, {'n': 1, 'x': 2}]|unique(attribute='n')|list }} {{ [1, 1.0, true]|unique|list }}
{{ [1, 2, 3]|reverse|list }} {{ 'abc'|reverse }} {{ 'é漢'|reverse }} {{ range(3)|reverse|list }} {{ (1, 2)|reverse|join }}
{{ ['a', 'b']|map('upper')|list }} {{ [{'n': 1}, {'m': 2}]|map(attribute='n')|list }} {{ [{'n': 1}, {'m': 2}]|map(attribute='n', default='?')|list }} {{ ['  a ', 'b ']|map('trim')|join }} {{ [[1, 2], [3]]|map('join', '-')|list }} {{ ['a']|map('replace', 'a', 'z')|list }} {{ [{'a': {'b': 5}}]|map(attribute='a.b')|list }} {{ [[1, 2]]|map(attribute=1)|list }} {{ []|map('upper')|list }}
{{ ['a']|map('nofilter')|list }}
{{ [1, 2, 3, 4]|select('odd')|list }} {{ [1, 2, 3, 4]|reject('odd')|list }} {{ [0, 1, '', 'a']|select|list }} {{ [0, 1]|reject|list }} {{ [1, 2, 3]|select('gt', 1)|list }} {{ [1, 2, 3]|select('in', [1, 3])|list }} {{ [1, 5]|select('divisibleby', 5)|list }} {{ ['a', 1]|select('string')|list }} {{ [1, 2]|select('==', 2)|first }}
{{ messages|selectattr('role', 'equalto', 'user')|list|length }} {{ messages|selectattr('role')|list|length }} {{ messages|rejectattr('role', 'eq', 'user')|list }} {{ messages|selectattr('nothing', 'defined')|list }} {{ messages|selectattr('nothing', 'undefined')|map(attribute='role')|list }} {{ messages|selectattr('role', 'in', ['user'])|map(attribute='role')|join }}
{{ messages|selectattr('role', 'equalto', 'user')|length }}
{{ messages|selectattr('role', 'notest')|list }}
{% set g = [1, 2]|map('string') %}{{ g|list }}{{ g|list }}{% if [] | map('upper') %}truthy{% endif %}
{{ {'b': 1, 'a': 2}|items|list }} {{ nothing|items|list }} {{ {'b': 1, 'A': 2}|dictsort }} {{ {'b': 1, 'A': 2}|dictsort(true) }} {{ {'b': 1, 'a': 2}|dictsort(by='value') }} {{ {'b': 1, 'a': 2}|dictsort(reverse=true) }}
{{ [1]|items }}{{ [1]|items|list }}
{{ {'a': [1, 2.5, true, none, 'é"\\\n\u0007/<>&']}|tojson }} {{ 'x'|tojson }} {{ [1, {'b': {}, 'c': []}]|tojson(indent=2) }} {{ {'b': 1, 'a': 2}|tojson(sort_keys=true) }} {{ 'é😀'|tojson(ensure_ascii=true) }} {{ [1, 2]|tojson(separators=(',', ':')) }} {{ (1, 2)|tojson }} {{ {1: 2, none: 3, true: 4, 1.5: 5}|tojson }} {{ [1]|tojson(indent=none) }} {{ []|tojson(indent=4) }}
{{ nothing|tojson }}
{{ range(3)|tojson }}
{{ '<b>&"\''|e }} {{ '<b>'|escape }} {{ 'x'|safe }} {{ '<'|forceescape }} {{ 'a\nb\n\nc'|indent }} {{ 'a\nb'|indent(2, true) }} {{ 'a\n\nb'|indent(2, blank=true) }} {{ 'a\nb'|indent('> ') }} {{ 'a\n'|indent }}|
{{ 'one two  three-four'|wordcount }} {{ 'foo bar baz qux'|truncate(9) }} {{ 'foo bar baz qux'|truncate(9, true) }} {{ 'foo bar baz qux'|truncate(11, false, '..', 0) }} [{{ 'x'|center(6) }}] [{{ 'abc'.center(6) }}] [{{ 'ab'.center(5) }}]
{{ [1, 2, 3, 4, 5]|batch(2)|list }} {{ [1, 2, 3]|batch(2, 'x')|list }} {{ [1, 2, 3, 4, 5]|slice(3)|list }} {{ [1, 2, 3, 4]|slice(3, 'x')|list }}
{{ '%s is %d or %5.2f%%' % ('x', 3, 2.5) }} {{ '%s'|format('y') }} {{ '%(a)s'|format(a=1) }} {{ '%05d|%-5s|%5s' % (42, 'ab', 'cd') }} {{ '%r' % 'q' }} {{ '%s' % [1] }} {{ '%x' % 255 }}
{{ '%s %s' % 'x' }}
{{ '%s' % ('x', 'y') }}
{{ '{} {}'.format(1, 'a') }} {{ '{1}{0}'.format('a', 'b') }} {{ '{x}'.format(x=5) }} {{ '{{}}'.format() }}
{{ '  a '.strip() }}|{{ '  a '.lstrip() }}|{{ '  a '.rstrip() }}|{{ 'xxaxx'.strip('x') }}|{{ 'abcab'.lstrip('ba') }}|{{ '\n\n a'.lstrip('\n') }}|{{ '\u00a0\u3000a\u2003'.strip() }}|
{{ 'a,b,,c'.split(',') }} {{ ' a  b '.split() }} {{ 'a b c'.split(' ', 1) }} {{ ' a  b  c '.split(none, 1) }} {{ 'a,b,c'.rsplit(',', 1) }} {{ ' a  b  c '.rsplit(none, 1) }} {{ ''.split(',') }} {{ ''.split() }} {{ 'abc'.split('x') }} {{ 'a--b--c'.split('--')[-1] }} {{ 'a b'.split(maxsplit=0) }} {{ 'a b c d'.split(maxsplit=2) }}
{{ 'x'.split('') }}
{{ 'a\nb\r\nc\rd\n'.splitlines() }} {{ 'a\nb'.splitlines(true) }} {{ ''.splitlines() }} {{ '\n'.splitlines() }} {{ 'a\u2028b'.splitlines() }}
{{ 'abc'.startswith('ab') }} {{ 'abc'.endswith(('x', 'c')) }} {{ 'abc'.startswith('bc', 1) }} {{ 'abc'.endswith('b', 0, 2) }} {{ ''.startswith('') }} {{ 'abc'.find('c') }} {{ 'abc'.find('x') }} {{ 'abcabc'.rfind('b') }} {{ 'é漢x'.find('x') }} {{ 'banana'.count('an') }} {{ 'aaa'.count('aa') }} {{ 'abc'.count('') }} {{ 'abcabc'.find('a', 1) }} {{ 'abc'.index('b') }} {{ ''.rfind('a') }} {{ 'aaa'.rfind('') }}
{{ 'abc'.index('x') }}
{{ 'abc'.startswith(1) }}
{{ 'Hello'.upper() }} {{ 'Hello'.lower() }} {{ "it's a dog".title() }} {{ 'hELLO'.capitalize() }} {{ 'aXbX'.replace('X', '-') }} {{ 'aXbX'.replace('X', '-', 1) }} {{ ','.join(['a', 'b']) }} {{ '-'.join('abc') }} {{ 'k=v=w'.partition('=') }} {{ 'k=v=w'.rpartition('=') }} {{ 'kv'.partition('=') }} {{ 'prefix-x'.removeprefix('prefix-') }} {{ 'x.txt'.removesuffix('.txt') }} {{ '123'.isdigit() }} {{ 'ab1'.isalnum() }} {{ 'ab'.isalpha() }} {{ ' '.isspace() }} {{ ''.isdigit() }} {{ 'AB'.isupper() }} {{ 'ab1'.islower() }} [{{ 'a'.ljust(3) }}{{ 'a'.rjust(3) }}]
{{ ','.join([1]) }}
{{ 'x'.replace('a') }}
{{ [1, 2, 1].count(1) }} {{ [1, 2].index(2) }} {{ (1, 2).index(1) }}
{{ x is defined }} {{ messages is defined }} {{ x is undefined }} {{ none is none }} {{ 1 is not none }} {{ 'a' is string }} {{ 1 is number }} {{ 1.5 is number }} {{ true is number }} {{ 1 is integer }} {{ true is integer }} {{ 1.5 is float }} {{ true is boolean }} {{ 1 is boolean }} {{ {} is mapping }} {{ [] is mapping }} {{ [] is sequence }} {{ 'a' is sequence }} {{ {} is sequence }} {{ 1 is sequence }} {{ [] is iterable }} {{ 1 is iterable }} {{ 'x' is iterable }} {{ nothing is iterable }} {{ true is true }} {{ 1 is true }} {{ false is false }} {{ 0 is false }}
{{ 1 is equalto 1 }} {{ 1 is eq(1) }} {{ 1 is ne 2 }} {{ 2 is gt 1 }} {{ 1 is lt 2 }} {{ 1 is ge 1 }} {{ 1 is le 0 }} {{ 1 is in [1, 2] }} {{ 'a' is in 'abc' }} {{ 2 is even }} {{ 3 is odd }} {{ 9 is divisibleby 3 }} {{ 'ABC' is upper }} {{ 'abc' is lower }} {{ 'aBc' is lower }} {{ none is sameas none }} {{ range is callable }} {{ 'x' is callable }} {{ 'upper' is filter }} {{ 'odd' is test }} {{ 'nope' is filter }} {{ 1 is greaterthan 0 }} {{ 1 is lessthan(2) }} {{ 1 is not odd or 2 is even }} {{ 1 is sameas true }}
{{ 3 is defined and 4 is defined }} {{ 3 is eq 3 and 4 }} {{ not 3 is eq 3 }} {{ -1 is number }} {{ 1 + 1 is number }} {{ 'a' ~ 1 is string }} {{ 5 is eq 2 + 3 }}
{{ 1 is nosuchtest }}
{{ 1 | nosuchfilter }}
{% if false %}{{ 1 | nosuchfilter }}{% endif %}ok {{ (1 | nosuchfilter) if false else 'fine' }}
{% if true %}{{ 1 | nosuchfilter }}{% endif %}
{% if false %}{% for i in [1] %}{{ 1 | nosuchfilter }}{% endfor %}{% endif %}
{% if 0 %}a{% elif 1 %}b{% else %}c{% endif %} {% if 0 %}a{% elif 0 %}b{% else %}c{% endif %} {% if '' %}x{% endif %}{% if [] %}x{% endif %}{% if {} %}x{% endif %}{% if 0.0 %}x{% endif %}{% if none %}x{% endif %}{% if ' ' %}y{% endif %}{% if range(0) %}x{% endif %}{% if (0,) %}z{% endif %}
{% if true: %}colon{% endif %}
{{ raise_exception('Conversation roles must alternate') }}
{{ raise_exception('a' ~ 1) if true }}
{{ strftime_now('%Y-%m-%d') }} {{ strftime_now('%d %b %Y, %H:%M:%S %A') }} [{{ strftime_now('') }}]
{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.current }}{{ c.next() }}{{ c.reset() }}{{ c.next() }} {% set j = joiner('|') %}{% for i in 'abc' %}{{ j() }}{{ i }}{% endfor %}
{{ bos_token }}{{ eos_token }}{{ tools }}{{ documents }}{{ tools is none }}{{ add_generation_prompt }}
{{ messages[0]['content']|trim|length }} {{ messages[-1].content[:3] }} {{ messages|map(attribute='content')|map('trim')|join(' / ') }} {{ (messages|first)['role'] }} {{ messages[0].items()|list }} {{ messages[0]|length }}
{{ messages[0].get('content', '').strip().lower().replace('world', 'x')[::-1] }}
{{ (1, 2) == (1, 2) }} {{ [1, [2, {'a': (3,)}]] }} {{ {'a': 'b'}.a ~ {'c': 'd'}['c'] }} {{ [[]] == [[]] }} {{ 'b' in ['a', 'b'] and 'c' not in ['a'] }}
{{ 'a' 'b' ~ 'c' * 2 }} {{ 1 + 2 ~ 3 }} {{ 2 * 3 ~ 4 }}
{{ 'x' ~ 1 + 1 }}
{{ 10 - 2 - 3 }} {{ 2 * (3 + 4) }} {{ 100 / 10 / 2 }} {{ -3 + 5 }} {{ 1 - -1 }} {{ (2, 3)[0] ** 2 }} {{ 5 / 2 }} {{ 4 / 2 }} {{ 1.0 * 3 }}
{{ loop is defined }} {{ namespace is defined }} {{ range is defined }} {{ raise_exception is defined }}
{{ messages[0].role|upper|lower|title }} {{ ('a', 'b')|join }} {{ [1,2,3]|sum|string|length }} {{ ([1,2]|length > 1) and 'many' }} {{ 'abc'|upper == 'ABC' }}
{{ {'a': 1}['items']() | list }} {{ 'abc'['upper']() }} {{ {'upper': 1}.upper }} {{ 'x'|attr('upper') is callable }}
{% for m in messages %}{{ m is mapping }}{{ m.role is eq 'user' }}{% endfor %}{% for m in messages|reverse %}{{ m.role }}{% endfor %}{% for x in [3,1,2]|sort %}{{ x }}{% endfor %}{% for x in {'b': 1}|dictsort %}{{ x }}{% endfor %}
{% nosuchtag %}
{% if true %}
{% for x in y %}{% endif %}
{% endfor %}
{{ 1 +
{{ 'abc }}
{% set %}
{# open
{% raw %} open
{{ (1 }}
{{ 1) }}
{{ [1 2] }}
{{ 1 2 }}
{{ a.b. }}
{{ foo(a=1, 2) }}
{{ }}
{% macro m(a=1, b) %}{% endmacro %}
{% break %}
{% set none = 1 %}
{{ 1 is eq 1 is eq 1 }}
{{ @ }}
{% else %}
{% for a in b %}{% elif %}{% endfor %}
{% do 1 %}
'''.strip('\n').split('\n')] + [
    "line one\n  {% if true %}\n  kept\n  {% endif %}\nline two\n",
    "  {%- if true %}\n a\n  {%- endif %}\n\n  b",
    "a\n  {# comment #}\n  b {# another #}\n c\n",
    "  {{ 1 }}  \n  {{- 2 }}\n\n{{ 3 -}}\n\n 4",
    "x {% if true %} y\n{% endif %} z\n\n\n",
    "\n\n{% for i in [1, 2] %}\n    {{ i }}\n{% endfor %}\n",
    "a\r\nb\rc{% if 1 %}\r\n d{% endif %}\r\n",
    "a\n\t {%+ if true %}b{% endif +%}\nc",
    "{% set x = {\n 'a': 1,\n 'b': [1,\n 2]\n} %}{{ x }}",
    "{{ 'multi\nline' }}",
    "{% raw %}\n  {{ x }}\n{% endraw %}\ny",
    "  {% raw -%}\n  {{ x }}\n  {%- endraw %}\ny",
    "{{- '' -}}\n  text  \n{{- '' -}}",
    "{%- for m in messages -%}\n  [ {{- m.role -}} ]\n{%- endfor -%}\n",
    "{%- macro a() -%}\n  x\n{%- endmacro -%}\n{{ a() }}\n{{ a() }}",
    "no tags at all\n",
    "",
    "\n",
    "{",
    "}} %} #}",
    "{ { 1 } }",
    "a{{ '{{' }}b{{ '%}' }}",
    "{% if true %}{% if true %}\n{% endif %}\n{% endif %}\nx",
    "\u00a0{%- if true %}nbsp{% endif -%}\u2003x",
    "{% for i in range(3) -%}\n  {{ i }},\n{%- endfor %}",
    "{{ \"a\\\nb\" }}",
    "{% call missing() %}x{% endcall %}",
    "{% set x = 'a' if false %}{{ x is defined }}{{ x }}",
    "{% for i in range(2) %}{% for j in range(2) %}{% if j %}{% break %}{% endif %}{{ i }}{{ j }} {% endfor %}{% endfor %}",
    "{% set ns = namespace(found=false) %}{% for m in messages %}{% if m.role == 'user' and not ns.found %}{% set ns.found = true %}U{% endif %}{% endfor %}{{ ns.found }}",
]

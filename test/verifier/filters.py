"""Filters of exports (§4.2). Summaries are not made here, so the parameter `q` is not checked."""
from exported import text_in


def values_of(text):
    """Values of a list: split at commas, with backslash as escape; empty values do not count."""
    values, current, chars = [], '', iter(text)
    for char in chars:
        if char == '\\':
            current += next(chars, '\\')
        elif char == ',':
            values.append(current)
            current = ''
        else:
            current += char
    return [value for value in values + [current] if value != '']


def matches(pattern, value, name):
    begins = name in ('type', 'stream') and pattern.endswith('*')
    ends = name == 'type' and pattern.startswith('*') and len(pattern) > 1
    text = pattern[1 if ends else 0:-1 if begins else None]
    if begins and ends:
        return text in value
    if begins:
        return value.startswith(text)
    return value.endswith(text) if ends else value == pattern


def key_of(record, category):
    """Key in the name of a stream of a flag or a segment: behind the namespace and a plus sign."""
    if record.category() != category:
        return None
    return record.stream.split('-', 1)[1].partition('+')[2]


def candidates(record, name):
    actor, meta = record.actor(), record.envelope
    if name == 'tokenId':
        stream = record.stream[len('token-'):] if record.stream.startswith('token-') else None
        return [stream, text_in(record.fields, 'tokenId'), text_in(actor, 'id')]
    if name in ('requestId', 'correlationId', 'command', 'route'):
        return [text_in(meta, name)]
    return {
        'type': lambda: [record.name()],
        'category': lambda: [record.category()],
        'stream': lambda: [record.stream],
        'actor': lambda: [text_in(actor, 'id'), text_in(actor, 'kind')],
        'subject': lambda: [record.subject()],
        'namespaceKey': lambda: [record.namespace()],
        'flagKey': lambda: [key_of(record, 'flag')],
        'segmentKey': lambda: [key_of(record, 'segment')],
        'method': lambda: [record.method()],
        'provider': lambda: [text_in(record.fields, 'provider')],
        'outcome': lambda: [record.outcome()],
    }[name]()


def passes(record, filters):
    for name, text in filters.items():
        if name == 'q':
            continue
        if name == 'from':
            if record.time < text:
                return False
            continue
        if name == 'to':
            if record.time >= text:
                return False
            continue
        found = [value for value in candidates(record, name) if value is not None]
        values = values_of(text)
        wanted = [value for value in values if not value.startswith('!')]
        unwanted = [value[1:] for value in values if value.startswith('!')]
        hit = lambda patterns: any(matches(pattern, value, name) for pattern in patterns for value in found)
        if (wanted and not hit(wanted)) or hit(unwanted):
            return False
    return True

"""Records of the data files of an export. Each line is made again from its record and compared byte for byte."""
import csv
import hashlib
import io
import json
import re
import sys

csv.field_size_limit(sys.maxsize)
# Numbers in data and metadata are never compared, so their size does not matter.
decoder = json.JSONDecoder(parse_int=float)

TEXT = r'"(?:[^"\\]|\\.)*"'
NDJSON = re.compile(
    r'\{"index":(\d+),"position":(%s),"id":(%s),"stream":(%s),"revision":(\d+),"type":(%s),"time":(%s),"data":'
    % ((TEXT,) * 5))


class Malformed(Exception):
    def __init__(self, line):
        super().__init__(line)
        self.line = line


def quoted(text):
    return json.dumps(text, ensure_ascii=False)


def members(text):
    """Members of a JSON object; none if the text is something else."""
    try:
        value = json.loads(text, parse_int=float)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def text_in(mapping, name):
    value = mapping.get(name)
    return value if isinstance(value, str) else None


class Record:
    def __init__(self, index, position, id, stream, revision, type, time, data, meta):
        if not re.fullmatch('0|[1-9][0-9]*', position):
            raise ValueError
        self.index, self.position, self.revision = int(index), position, int(revision)
        self.id, self.stream, self.type, self.time = id, stream, type, time
        self.data, self.meta = data, meta
        self.fields, self.envelope = members(data), members(meta)

    def entry(self):
        digest = lambda text: hashlib.sha256(text.encode('utf-8')).hexdigest()
        return '{"data":"%s","id":%s,"meta":"%s","revision":%d,"stream":%s,"time":%s,"type":%s,"v":1}' % (
            digest(self.data), quoted(self.id), digest(self.meta), self.revision, quoted(self.stream),
            quoted(self.time), quoted(self.type))

    # Members that follow from the record (§3.1).
    def name(self):
        return re.sub(r'\.v\d+$', '', self.type)

    def version(self):
        found = re.search(r'\.v(\d+)$', self.type)
        return found.group(1).lstrip('0') if found else '1'

    def category(self):
        return self.stream.split('-', 1)[0]

    def actor(self):
        actor = self.envelope.get('actor')
        return actor if isinstance(actor, dict) else {'kind': 'system'}

    def namespace(self):
        own = text_in(self.fields, 'namespace')
        return text_in(self.fields, 'key') if own is None and self.category() == 'namespace' else own

    def subject(self):
        own = text_in(self.fields, 'subject')
        return text_in(self.envelope, 'subject') if own is None else own

    def method(self):
        own = text_in(self.fields, 'method')
        return 'orchestrator' if own is None and 'serviceAccount' in self.fields else own

    def outcome(self):
        if self.name() == 'RefusalsSummarised':
            return 'failed'
        if self.name() not in ('LoginRefused', 'AuthenticationRefused'):
            return 'success'
        denied = ('token_scoped right_missing grant_exceeds no_grant cross_site email_not_allowed '
                  'membership_required service_account_not_allowed').split()
        return 'denied' if text_in(self.fields, 'reason') in denied else 'failed'


COLUMNS = ('index,position,time,type,version,category,stream,revision,id,namespace,subject,method,provider,outcome,'
           'command,actor_kind,actor_id,actor_method,request_id,correlation_id,causation_id,route,reason,instance,'
           'data,meta').split(',')
FORMULA = '=+-@\t\r\uff1d\uff0b\uff0d\uff20'


def cell(text):
    plain = "'" + text if text[:1] and text[0] in FORMULA else text
    return '"%s"' % plain.replace('"', '""') if re.search('[",\r\n]', plain) else plain


def bare(text):
    return text[1:] if text[:1] == "'" and text[1:2] and text[1] in FORMULA else text


def csv_row(record):
    actor, meta = record.actor(), record.envelope
    values = [str(record.index), record.position, record.time, record.name(), record.version(), record.category(),
              record.stream, str(record.revision), record.id, record.namespace(), record.subject(), record.method(),
              text_in(record.fields, 'provider'), record.outcome(), text_in(meta, 'command'), text_in(actor, 'kind'),
              text_in(actor, 'id'), text_in(actor, 'method')]
    values += [text_in(meta, name) for name in
               ('requestId', 'correlationId', 'causationId', 'route', 'reason', 'instance')]
    return ','.join(cell(value or '') for value in values + [record.data, record.meta]) + '\r\n'


def read_csv(text):
    rows = csv.reader(io.StringIO(text, newline=''), strict=True)
    header = ','.join(COLUMNS) + '\r\n'
    if not text.startswith(header):
        raise Malformed(1)
    at = len(header)
    next(rows)
    number = 1
    while True:
        number += 1
        try:
            row = next(rows)
        except StopIteration:
            break
        except csv.Error:
            raise Malformed(number)
        if len(row) != len(COLUMNS):
            raise Malformed(number)
        named = dict(zip(COLUMNS, map(bare, row)))
        if not all(re.fullmatch('0|[1-9][0-9]*', named[name]) for name in ('index', 'position', 'revision')):
            raise Malformed(number)
        wire = named['type'] if named['version'] == '1' else '%(type)s.v%(version)s' % named
        record = Record(named['index'], named['position'], named['id'], named['stream'], named['revision'], wire,
                        named['time'], named['data'], named['meta'])
        again = csv_row(record)
        if not text.startswith(again, at):
            raise Malformed(number)
        at += len(again)
        yield record
    if at != len(text):
        raise Malformed(0)


def stored(line, at):
    """Stored text that begins at a place of a line, and the end of its JSON form."""
    value, end = decoder.raw_decode(line, at)
    # A stored text that is not a JSON object appears as a JSON string.
    return (value if isinstance(value, str) else line[at:end]), end


def ndjson_record(line, is_open):
    found = NDJSON.match(line)
    if not found:
        raise ValueError
    index, position, id, stream, revision, type, time = found.groups()
    data, end = stored(line, found.end())
    if not line.startswith(',"meta":', end):
        raise ValueError
    meta, end = stored(line, end + len(',"meta":'))
    texts = [json.loads(text) for text in (position, id, stream, type, time)]
    if [quoted(text) for text in texts] != [position, id, stream, type, time]:
        raise ValueError
    if is_open:
        if not line.startswith(',"personal":{', end):
            raise ValueError
        fields, end = decoder.raw_decode(line, end + len(',"personal":'))
        for field in fields.values():
            if set(field) != ({'status', 'value'} if field['status'] == 'open' else {'status'}):
                raise ValueError
            if field['status'] not in ('open', 'erased', 'lost'):
                raise ValueError
    if line[end:] != '}' or str(int(index)) != index or str(int(revision)) != revision:
        raise ValueError
    return Record(index, texts[0], texts[1], texts[2], revision, texts[3], texts[4], data, meta)


def cloud_event(record, ledger, data_json):
    actor, meta = record.actor(), record.envelope
    attributes = [('specversion', '1.0'), ('id', record.id), ('source', 'urn:rollcall:ledger:' + ledger),
                  ('type', 'rollcall.' + record.type), ('subject', record.stream), ('time', record.time),
                  ('datacontenttype', 'application/json'), ('dataschema', 'urn:rollcall:schema:' + record.type),
                  ('sequence', '%019d' % record.index), ('position', record.position), ('revision', record.revision),
                  ('partitionkey', record.stream), ('actorkind', text_in(actor, 'kind')),
                  ('actorid', text_in(actor, 'id'))]
    attributes += [(name.lower(), text_in(meta, name)) for name in
                   ('requestId', 'correlationId', 'causationId', 'reason')]
    attributes.append(('meta', record.meta))
    shown = ','.join('"%s":%s' % (name, json.dumps(value, ensure_ascii=False))
                     for name, value in attributes if value is not None)
    return '{%s,"data":%s}' % (shown, data_json)


def cloud_record(line, ledger):
    event = json.loads(line)
    at = line.index(',"data":', line.index('"meta":' + quoted(event['meta']))) + len(',"data":')
    data, end = stored(line, at)
    prefix = 'rollcall.'
    if not event['type'].startswith(prefix):
        raise ValueError
    record = Record(event['sequence'], event['position'], event['id'], event['subject'], event['revision'],
                    event['type'][len(prefix):], event['time'], data, event['meta'])
    if cloud_event(record, ledger, line[at:end]) != line:
        raise ValueError
    return record


def read_records(content, manifest):
    try:
        text = content.decode('utf-8')
    except UnicodeDecodeError:
        raise Malformed(0)
    if manifest['format'] == 'csv':
        yield from read_csv(text)
        return
    if manifest['format'] not in ('ndjson', 'cloudevents'):
        raise ValueError('the format %s cannot be checked' % manifest['format'])
    if text and not text.endswith('\n'):
        raise Malformed(0)
    for number, line in enumerate(text.split('\n')[:-1], 1):
        try:
            if manifest['format'] == 'ndjson':
                yield ndjson_record(line, manifest['personal'] == 'open')
            else:
                yield cloud_record(line, manifest['origin'].rsplit('/', 1)[-1])
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise Malformed(number)

"""Lets clients that know no sockets of files reach the cluster of PGHOST. Prints the port, and relays until it is stopped."""
import asyncio
import os


async def copy(reader, writer):
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()


async def accept(reader, writer):
    inner_reader, inner_writer = await asyncio.open_unix_connection(f"{os.environ['PGHOST']}/.s.PGSQL.{os.environ['PGPORT']}")
    await asyncio.gather(copy(reader, inner_writer), copy(inner_reader, writer))


async def main():
    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())

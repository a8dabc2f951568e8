# An image in which the game starts at once: docker build -t nap . && docker run -it nap play
# With training: docker build --build-arg EXTRAS=[train] -t nap .
FROM python:3.11-slim
ARG EXTRAS=
COPY . /src
RUN pip install --no-cache-dir "/src$EXTRAS" && rm -r /src
RUN useradd --create-home nap
USER nap
WORKDIR /home/nap
# Kept in the user's own cache, since the packages belong to root. Another kind of processor compiles anew.
RUN nap warmup
ENTRYPOINT ["nap"]
CMD ["--help"]
